import { DNS_LABEL, GRACE, type SeenKind, SUBDOMAIN } from '../check-kind.ts';
import { type LabelSelector, labelSelector } from '../label-selector.ts';
import { text } from '../schema.ts';

export type PodsSettings = { namespace: string; selector: LabelSelector; daemonSet?: string; graceMs?: number };

export const pods: SeenKind<PodsSettings> = {
  schema: {
    description:
      'Passes if a pod of it on the node is Ready and not terminating. Where a DaemonSet controls any of them on a node, ' +
      'others on it do not count.',
    type: 'object',
    required: ['namespace', 'selector'],
    properties: {
      namespace: text('Namespace of the pods.', DNS_LABEL),
      selector: labelSelector('Label selector of the pods.', true),
      daemonSet: text('Only pods that this DaemonSet controls count.', SUBDOMAIN),
      grace: GRACE,
    },
  },
  voucher: 'none',
  watched: 'pods',
  says: ({ namespace, daemonSet }) => {
    const controller = daemonSet === undefined ? '' : ` of the DaemonSet ${daemonSet}`;
    return `a pod${controller} in ${namespace} on the node is Ready and not terminating`;
  },
};
