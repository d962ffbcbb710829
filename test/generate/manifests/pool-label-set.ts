import { cel } from './cel.ts';
import {
  column,
  conditions,
  count,
  KEY_RULE,
  LABEL_VALUE,
  observedGeneration,
  ofCondition,
  text,
} from './crd-parts.ts';
import type { ManifestObject } from './manifest.ts';

const GROUP = 'labels.banzaicloud.io';

/** For policies that take NodePoolLabelSets as their parameters. */
export const POOL_LABEL_SET_PARAMS = { apiVersion: `${GROUP}/v1alpha1`, kind: 'NodePoolLabelSet' };

const REFUSED_KEYS_MAX = 20;
const spec = {
  description: 'What the nodes of the pool should have.',
  type: 'object',
  required: ['labels'],
  properties: {
    labels: {
      description:
        'Labels for every node of the pool. Keys in the domains k8s.io and kubernetes.io, keys that say which pool a ' +
        'node is in, and labels that rollcall sets for other reasons are left out, and listed in status.refusedKeys. ' +
        'A label that somebody else gave another value stays as it is.',
      type: 'object',
      additionalProperties: {
        description: 'Empty, or at most 63 letters, digits, "-", "_" and ".", the first and the last no punctuation.',
        ...LABEL_VALUE,
      },
      'x-kubernetes-validations': [
        {
          rule: 'self.all(k, !format.qualifiedName().validate(k).hasValue())',
          // Naming all of them would be over the budget for the cost of an expression.
          messageExpression: cel(`
            '"' + self.filter(k, format.qualifiedName().validate(k).hasValue())[0] + '" is no key of a label: '
            + '${KEY_RULE}'`),
        },
      ],
    },
    pool: {
      description:
        'The pool, as it stands in the label of its nodes that names it, where that cannot be the name of an object, ' +
        'as with upper case or underscores. The name of this object unless set.',
      ...LABEL_VALUE,
    },
  },
};

const status = {
  description: 'What became of it. Written by rollcall.',
  type: 'object',
  properties: {
    observedGeneration,
    nodesMatched: count('Nodes of the pool.'),
    nodesLabelled: count('Nodes of the pool that have all labels that can be set.'),
    nodesInConflict: count('Nodes on which somebody else gave one of the labels another value, which stays.'),
    refusedKeys: {
      description: `Labels that are not set, the first ${REFUSED_KEYS_MAX} of them.`,
      type: 'array',
      maxItems: REFUSED_KEYS_MAX,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['key', 'reason'],
        properties: { key: text('The key of the label.'), reason: text('Why it is not set.') },
      },
    },
    conditions: conditions(
      'How it stands: Accepted and Ready.',
      'Accepted: every label can be set. Ready: every node of the pool has the labels.',
    ),
  },
};

const columns = [
  column('Pool', 'string', '.spec.pool', 'The pool, where it is not the name.'),
  column('Nodes', 'integer', '.status.nodesMatched', 'Nodes of the pool.'),
  column('Labelled', 'integer', '.status.nodesLabelled', 'Those that have all labels.'),
  column('Conflicts', 'integer', '.status.nodesInConflict', 'Those on which a label has another value.', 1),
  column('Accepted', 'string', ofCondition('Accepted', 'status'), 'Every label can be set.'),
  column('Ready', 'string', ofCondition('Ready', 'status'), 'Every node has the labels.'),
  column('Message', 'string', ofCondition('Ready', 'message'), 'Why it is ready or not.', 1),
  column('Age', 'date', '.metadata.creationTimestamp', 'Since it was made.'),
];

/** Group, version and names are those of Banzai Cloud's operator, so that what was made for it goes on to be valid. */
export const POOL_LABEL_SET_CRD: ManifestObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `nodepoollabelsets.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: {
      kind: 'NodePoolLabelSet',
      listKind: 'NodePoolLabelSetList',
      plural: 'nodepoollabelsets',
      singular: 'nodepoollabelset',
      shortNames: ['npls'],
    },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: columns,
        schema: {
          openAPIV3Schema: {
            description:
              'Labels for the nodes of one pool. Nodes get them when they are created, and follow every change. ' +
              'Only those in the namespace of rollcall count; of several for one pool, the oldest.',
            type: 'object',
            required: ['spec'],
            properties: {
              apiVersion: text('Version of the schema.'),
              kind: text('NodePoolLabelSet.'),
              metadata: { type: 'object' },
              spec,
              status,
            },
          },
        },
      },
    ],
  },
};
