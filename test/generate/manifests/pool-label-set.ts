import { cel } from './cel.ts';
import type { ManifestObject } from './manifest.ts';

const GROUP = 'labels.banzaicloud.io';

/** For policies that take NodePoolLabelSets as their parameters. */
export const POOL_LABEL_SET_PARAMS = { apiVersion: `${GROUP}/v1alpha1`, kind: 'NodePoolLabelSet' };

const REFUSED_KEYS_MAX = 20;
/** An API server's own rule for the value of a label, which is empty or at most 63 characters. */
const LABEL_VALUE = { type: 'string', maxLength: 63, pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$' };
const KEY_RULE =
  'it must be NAME or DOMAIN/NAME, a name of at most 63 letters, digits, "-", "_" and ".", the first and the last no ' +
  'punctuation, the domain in lower case';

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

const text = (description: string, more: object = {}) => ({ description, type: 'string', ...more });
const count = (description: string) => ({ description, type: 'integer', format: 'int32', minimum: 0 });

const condition = {
  type: 'object',
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  properties: {
    type: text('Accepted: every label can be set. Ready: every node of the pool has the labels.', { maxLength: 316 }),
    status: text('True, False or Unknown.', { enum: ['True', 'False', 'Unknown'] }),
    reason: text('Why, as one word.', {
      maxLength: 1024,
      minLength: 1,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }),
    message: text('Why, as a sentence.', { maxLength: 32768 }),
    lastTransitionTime: text('Since when the status is what it is.', { format: 'date-time' }),
    observedGeneration: {
      description: 'The metadata.generation that this is about.',
      type: 'integer',
      format: 'int64',
      minimum: 0,
    },
  },
};

const status = {
  description: 'What became of it. Written by rollcall.',
  type: 'object',
  properties: {
    observedGeneration: {
      description: 'The metadata.generation that the rest is about.',
      type: 'integer',
      format: 'int64',
    },
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
    conditions: {
      description: 'How it stands: Accepted and Ready.',
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: condition,
    },
  },
};

const column = (name: string, type: string, jsonPath: string, description: string, priority = 0) => ({
  name,
  type,
  jsonPath,
  description,
  ...(priority > 0 ? { priority } : {}),
});
const ofReady = (field: string) => `.status.conditions[?(@.type=="Ready")].${field}`;

const columns = [
  column('Pool', 'string', '.spec.pool', 'The pool, where it is not the name.'),
  column('Nodes', 'integer', '.status.nodesMatched', 'Nodes of the pool.'),
  column('Labelled', 'integer', '.status.nodesLabelled', 'Those that have all labels.'),
  column('Conflicts', 'integer', '.status.nodesInConflict', 'Those on which a label has another value.', 1),
  column('Accepted', 'string', '.status.conditions[?(@.type=="Accepted")].status', 'Every label can be set.'),
  column('Ready', 'string', ofReady('status'), 'Every node has the labels.'),
  column('Message', 'string', ofReady('message'), 'Why it is ready or not.', 1),
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
