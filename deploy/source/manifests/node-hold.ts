import { NODE_HOLD_SPEC } from '@rollcall/common/checks/node-hold-spec.ts';
import { clusterCrd, column, conditions, count, inForceColumn, objectStatus, ofCondition } from './crd-parts.ts';

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
