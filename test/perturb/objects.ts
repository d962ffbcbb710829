import type { KubeObject } from '../control-plane/api-client.ts';

export const NODE_SERVICES = '/apis/rollcall.dev/v1alpha1/nodeservices';
export const NODE_POOL_LABEL_SETS = '/apis/labels.banzaicloud.io/v1alpha1/namespaces/rollcall/nodepoollabelsets';
export const POOL_LABEL = 'nodepool.banzaicloud.io/name';

/** With all that a service can publish; asks its pods and the agents. */
export const ALPHA = nodeService('alpha', {
  checks: [
    { name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { app: 'alpha' } } } },
    { name: 'port', tcp: { port: 9000 } },
  ],
  publish: {
    label: 'service.rollcall.dev/alpha',
    taint: { key: 'readiness.k8s.io/alpha', effect: 'NoSchedule' },
    condition: 'service.rollcall.dev/Alpha',
  },
});

/** With a label alone; asks the agents alone. */
export const BETA = nodeService('beta', { checks: [{ name: 'port', tcp: { port: 9001 } }] });

/** Its pods do not tolerate its taint. */
export const GAMMA = nodeService('gamma', {
  checks: [{ name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { app: 'gamma' } } } }],
  publish: { label: 'service.rollcall.dev/gamma', taint: { key: 'readiness.k8s.io/gamma', effect: 'NoSchedule' } },
});

function nodeService(name: string, spec: object): KubeObject {
  return { apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodeService', metadata: { name }, spec };
}

export function poolLabelSet(name: string, labels: Record<string, string>): KubeObject {
  return {
    apiVersion: 'labels.banzaicloud.io/v1alpha1',
    kind: 'NodePoolLabelSet',
    metadata: { name, namespace: 'rollcall' },
    spec: { labels },
  };
}
