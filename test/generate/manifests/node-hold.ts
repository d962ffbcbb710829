import { clusterCrd, column, conditions, count, inForceColumn, objectStatus, ofCondition, text } from './crd-parts.ts';
import { labelSelector } from './label-selector.ts';

/** Schema of the spec of a NodeHold. */
export const NODE_HOLD_SPEC = {
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
        namespace: text('Namespace of the pods.', { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
        selector: labelSelector('Label selector of the pods.', true),
      },
    },
  },
};

const status = objectStatus({
  nodesHeld: count('Number of nodes with such a pod.'),
  conditions: conditions(),
});

const columns = [
  column('Namespace', 'string', '.spec.pods.namespace', 'Namespace of the pods.'),
  column('Nodes', 'integer', '.status.nodesHeld', 'Number of nodes with such a pod.'),
  inForceColumn,
  column('Message', 'string', ofCondition('Ready', 'message'), 'Why the object is in force or not.', 1),
  column('Age', 'date', '.metadata.creationTimestamp', 'Time since the creation of the object.'),
];

/** Pods that keep their nodes from being removed. */
export const NODE_HOLD_CRD = clusterCrd(
  { kind: 'NodeHold', plural: 'nodeholds', singular: 'nodehold', shortNames: ['nh'] },
  {
    description: 'Pods that prevent autoscalers from removing their nodes.',
    columns,
    selectable: ['.spec.pods.namespace'],
    spec: NODE_HOLD_SPEC,
    status,
  },
);
