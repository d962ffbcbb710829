import { KEY_RULE, LABEL_VALUE } from '@rollcall/common/checks/label-selector.ts';
import { text, validation } from '@rollcall/common/checks/schema.ts';
import { POOL_KEYS_LENGTH_MAX, POOL_LABELS_MAX } from '@rollcall/common/pool-labels.ts';
import { REFUSED_KEYS_MAX } from '@rollcall/common/status-limits.ts';
import { POOL_LABEL_RESOURCES, type PoolLabelKind } from '@rollcall/coordinator/state/pool-label-sets.ts';
import { cel } from './cel.ts';
import {
  CATEGORIES,
  column,
  conditions,
  count,
  inForceColumn,
  longest,
  objectStatus,
  ofCondition,
  servedVersion,
} from './crd-parts.ts';
import type { ManifestObject } from './manifest.ts';

const spec = {
  description: 'Labels of the nodes of a pool.',
  type: 'object',
  required: ['labels'],
  properties: {
    labels: {
      description:
        'Labels for every node of the pool. Keys in the domains k8s.io and kubernetes.io, keys that name the pool of a ' +
        'node, and labels that rollcall sets for other reasons are not set, and are listed in status.refusedKeys. ' +
        'A label that another client set to another value stays unchanged.',
      type: 'object',
      maxProperties: POOL_LABELS_MAX,
      additionalProperties: {
        description: 'Empty, or at most 63 letters, digits, "-", "_" and ".", with a letter or digit first and last.',
        ...LABEL_VALUE,
      },
      'x-kubernetes-validations': [
        {
          rule: 'self.all(k, !format.qualifiedName().validate(k).hasValue())',
          // Naming all of them would be over the budget for the cost of an expression.
          messageExpression: cel(`
            '"' + self.filter(k, format.qualifiedName().validate(k).hasValue())[0] + '" is not a valid label key: '
            + '${KEY_RULE}'`),
        },
        validation(
          `self.map(k, size(k)).sum() <= ${POOL_KEYS_LENGTH_MAX}`,
          `the keys of all labels have more than ${POOL_KEYS_LENGTH_MAX} characters, which do not fit on a Node: use fewer or shorter keys`,
        ),
      ],
    },
    pool: {
      description:
        'The pool, as the label of its nodes names it. Set it if that cannot be the name of an object, ' +
        'as with upper case or underscores. Defaults to the name of this object.',
      ...LABEL_VALUE,
    },
  },
};

const status = objectStatus({
  nodesMatched: count('Number of nodes of the pool.'),
  nodesLabelled: count('Number of nodes of the pool that have all labels that can be set.'),
  nodesInConflict: count(
    'Number of nodes on which another client set one of the labels to another value, which stays.',
  ),
  refusedKeys: {
    description: `Labels that are not set, the first ${REFUSED_KEYS_MAX} of them.`,
    type: 'array',
    maxItems: REFUSED_KEYS_MAX,
    'x-kubernetes-list-type': 'atomic',
    items: {
      type: 'object',
      required: ['key', 'reason'],
      properties: {
        key: text('Key of the label.', longest('key')),
        reason: text('Why the label is not set.', longest('reason')),
      },
    },
  },
  conditions: conditions({ type: 'NodesLabelled', says: 'every node of the pool has the labels that can be set.' }),
});

const columns = [
  column('Pool', 'string', '.spec.pool', 'The pool, if it is not the name of the object.'),
  column('Nodes', 'integer', '.status.nodesMatched', 'Number of nodes of the pool.'),
  column('Labelled', 'integer', '.status.nodesLabelled', 'Number of nodes that have all labels.'),
  column('Conflicts', 'integer', '.status.nodesInConflict', 'Number of nodes on which a label has another value.', 1),
  inForceColumn,
  column(
    'Nodes-Labelled',
    'string',
    ofCondition('NodesLabelled', 'status'),
    'Whether every node has the labels that can be set.',
  ),
  column(
    'Message',
    'string',
    ofCondition('NodesLabelled', 'message'),
    'Why the object is not in force, or labels are missing.',
    1,
  ),
  column('Age', 'date', '.metadata.creationTimestamp', 'Time since the creation of the object.'),
];

export const NODE_POOL_LABELS_CRD = crdOf('NodePoolLabels', 'nodepoollabels', 'npl');
/** Group, version and names come from Banzai Cloud's operator, so that its objects stay valid. */
export const POOL_LABEL_SET_CRD = crdOf('NodePoolLabelSet', 'nodepoollabelset', 'npls');

/** The CRD of a kind; `singular` and `shortName` are what `kubectl get` accepts. */
function crdOf(kind: PoolLabelKind, singular: string, shortName: string): ManifestObject {
  const { group, version, resource: plural } = POOL_LABEL_RESOURCES[kind];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames: [shortName], categories: CATEGORIES },
      versions: [
        {
          name: version,
          ...servedVersion(['.spec.pool']),
          additionalPrinterColumns: columns,
          schema: {
            openAPIV3Schema: {
              description:
                'Labels for the nodes of one pool. Nodes get them when they are created, and when the labels change. ' +
                'Only objects in the namespace of rollcall count; of several NodePoolLabels and NodePoolLabelSets for ' +
                'one pool, only the oldest.',
              type: 'object',
              required: ['spec'],
              properties: {
                apiVersion: text('Version of the schema.'),
                kind: text(`${kind}.`),
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
}
