import { type MonitoringObject, metadataOf, type Placement } from './text.ts';

/** What the operator of Prometheus scrapes: each agent, with the name of its node, and each coordinator. */
export function podMonitors(placement: Placement): MonitoringObject[] {
  const node = [{ sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' }];
  return ['agent', 'coordinator'].map((component) => ({
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    metadata: metadataOf(`rollcall-${component}`, placement),
    spec: {
      selector: {
        matchLabels: { 'app.kubernetes.io/name': 'rollcall', 'app.kubernetes.io/component': component },
      },
      podMetricsEndpoints: [{ port: 'metrics', path: '/metrics', interval: '30s', relabelings: node }],
    },
  }));
}
