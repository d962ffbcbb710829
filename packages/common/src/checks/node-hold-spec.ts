import { DNS_LABEL } from './check-kind.ts';
import { labelSelector } from './label-selector.ts';
import { type Schema, text } from './schema.ts';

/** The spec of a NodeHold. */
export const NODE_HOLD_SPEC: Schema = {
  description: 'Pods that keep their nodes.',
  type: 'object',
  required: ['pods'],
  properties: {
    pods: {
      description:
        'While such a pod is on a node and has not ended (phase Succeeded or Failed), the node has annotations that tell autoscalers to keep it.',
      type: 'object',
      required: ['namespace', 'selector'],
      properties: {
        namespace: text('Namespace of the pods.', DNS_LABEL),
        selector: labelSelector('Label selector of the pods.', true),
      },
    },
  },
};
