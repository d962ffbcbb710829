import { clusterCrd, column, conditions, count, observedGeneration, ofCondition, text } from './crd-parts.ts';
import { labelSelector } from './label-selector.ts';

/** What a NodeHold asks for, as its CRD has it. */
export const NODE_HOLD_SPEC = {
  description: 'What keeps a node.',
  type: 'object',
  required: ['pods'],
  properties: {
    pods: {
      description:
        'While such a pod is on a node and has not ended (phase Succeeded or Failed), autoscalers are told to keep the node.',
      type: 'object',
      required: ['namespace', 'selector'],
      properties: {
        namespace: text('Where the pods are.', { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
        selector: labelSelector('Which pods.', true),
      },
    },
  },
};

const status = {
  description: 'What became of it. Written by rollcall.',
  type: 'object',
  properties: {
    observedGeneration,
    nodesHeld: count('Nodes that such a pod is on.'),
    conditions: conditions('How it stands: Accepted.', 'Accepted: nodes with such pods are kept.'),
  },
};

const columns = [
  column('Namespace', 'string', '.spec.pods.namespace', 'Where the pods are.'),
  column('Nodes', 'integer', '.status.nodesHeld', 'Nodes that such a pod is on.'),
  column('Accepted', 'string', ofCondition('Accepted', 'status'), 'Nodes with such pods are kept.'),
  column('Message', 'string', ofCondition('Accepted', 'message'), 'Why it is accepted or not.', 1),
  column('Age', 'date', '.metadata.creationTimestamp', 'Since it was made.'),
];

/** Pods that keep their nodes from being removed. */
export const NODE_HOLD_CRD = clusterCrd(
  { kind: 'NodeHold', plural: 'nodeholds', singular: 'nodehold', shortNames: ['nh'] },
  {
    description: 'Pods that keep autoscalers from removing the nodes that they are on.',
    columns,
    spec: NODE_HOLD_SPEC,
    status,
  },
);
