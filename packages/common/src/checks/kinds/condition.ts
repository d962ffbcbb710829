import { KUBELET_CONDITIONS } from '../../well-known.ts';
import { DNS_LABEL, type SeenKind } from '../check-kind.ts';
import { type LabelSelector, labelSelector } from '../label-selector.ts';
import { celList, duration, text, validation } from '../schema.ts';

export type ConditionSettings = {
  type: string;
  status: string;
  /** How long it must have this status. */
  forMs?: number;
  /** What it means that the Node does not have the condition. */
  missing: 'Unknown' | 'Pass' | 'Fail';
  /** One of these pods on the node must be Ready; without any, the condition vouches for itself. */
  reporter?: { namespace: string; selector: LabelSelector };
  /** How old its last heartbeat may be, if it must have one. */
  maxHeartbeatAgeMs?: number;
};

export const condition: SeenKind<ConditionSettings> = {
  schema: {
    description:
      'Passes if a condition of the Node, which another component writes, has a status. While its reporter is not Ready on the node, nothing that it says counts.',
    type: 'object',
    required: ['type'],
    properties: {
      type: text('Type of the condition.', { minLength: 1, maxLength: 316 }),
      status: text('Status that is healthy.', { enum: ['True', 'False', 'Unknown'], default: 'True' }),
      for: duration(
        'for',
        'Time for which it must have had this status, as rollcall saw it, or by lastTransitionTime if that is earlier.',
      ),
      missing: text('What it means that the node does not have the condition.', {
        enum: ['Unknown', 'Pass', 'Fail'],
        default: 'Unknown',
      }),
      reporter: {
        description: 'Pods that write the condition. One of them on the node must be Ready.',
        type: 'object',
        required: ['namespace', 'selector'],
        properties: {
          namespace: text('Namespace of the pods.', DNS_LABEL),
          selector: labelSelector('Label selector of the pods.', true),
        },
      },
      maxHeartbeatAge: duration('maxHeartbeatAge', 'Maximum age of lastHeartbeatTime.'),
    },
    'x-kubernetes-validations': [
      validation(
        `!(self.type in ${celList(KUBELET_CONDITIONS)})`,
        'the kubelet and networks write this condition, and Kubernetes itself acts on it: use another type',
      ),
    ],
  },
  voucher: 'reporter',
  watched: 'nodes',
  says: ({ type, status }) => `the condition ${type} is ${status}`,
};
