import { type MonitoringObject, metadataOf, type Placement } from './text.ts';

/** Time between two scrapes. The alerts look at windows that hold several of them. */
export const SCRAPE_INTERVAL = '30s';

/** What the operator of Prometheus scrapes: each agent, with the name of its node, and each coordinator. */
export function podMonitors(placement: Placement, interval = SCRAPE_INTERVAL): MonitoringObject[] {
  const node = [{ sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' }];
  return ['agent', 'coordinator'].map((component) => ({
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    metadata: metadataOf(`rollcall-${component}`, placement),
    spec: {
      selector: {
        matchLabels: { 'app.kubernetes.io/name': 'rollcall', 'app.kubernetes.io/component': component },
      },
      podMetricsEndpoints: [{ port: 'metrics', path: '/metrics', interval, relabelings: node }],
    },
  }));
}
