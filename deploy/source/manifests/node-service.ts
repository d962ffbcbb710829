import { NODE_SERVICE_SPEC } from '@rollcall/common/checks/node-service-spec.ts';
import { text, validation } from '@rollcall/common/checks/schema.ts';
import {
  clusterCrd,
  column,
  conditions,
  count,
  inForceColumn,
  longest,
  objectStatus,
  ofCondition,
} from './crd-parts.ts';

/** Kinds of keys that a service publishes. */
const PUBLISHED_KINDS = ['Label', 'Taint', 'Condition'];

const status = objectStatus({
  nodes: {
    description: 'Numbers of nodes.',
    type: 'object',
    required: ['selected', 'ready', 'notReady', 'unknown'],
    properties: {
      selected: count('On which the service belongs.'),
      ready: count('On which the service is ready.'),
      notReady: count('On which the service is not ready.'),
      unknown: count('On which the readiness is unknown.'),
    },
  },
  ready: text('Nodes on which the service is ready, of those on which it belongs, such as 3/5.', longest('ready')),
  published: {
    description: 'The keys that nodes get for the service, at most one of each kind.',
    type: 'array',
    maxItems: PUBLISHED_KINDS.length,
    // A list by keys would have fields of its own in managedFields, which the fence does not know.
    'x-kubernetes-list-type': 'atomic',
    items: {
      type: 'object',
      required: ['kind', 'key'],
      properties: {
        kind: text('Kind of the key.', { enum: PUBLISHED_KINDS }),
        key: text('The label, the key of the taint, or the type of the condition.', longest('key')),
        effect: text('Effect of the taint.', longest('effect')),
      },
    },
  },
  inForceSince: text(
    'Time since which the service has been in force. Nodes that are younger have its taint from birth; older ones count in maxUnavailable. Not there while it is refused or a dry run.',
    { format: 'date-time', ...longest('lastTransitionTime') },
  ),
  conditions: conditions({
    type: 'NodesReady',
    says: 'the service is ready on every node on which it belongs; the message names the commonest reason, and a node.',
  }),
});

const columns = [
  column('Ready', 'string', '.status.ready', 'Nodes on which the service is ready, of those on which it belongs.'),
  inForceColumn,
  column(
    'Nodes-Ready',
    'string',
    ofCondition('NodesReady', 'status'),
    'Whether the service is ready on every node on which it belongs.',
  ),
  column('Not-Ready', 'integer', '.status.nodes.notReady', 'Number of nodes on which the service is not ready.', 1),
  column('Unknown', 'integer', '.status.nodes.unknown', 'Number of nodes on which the readiness is unknown.', 1),
  ...PUBLISHED_KINDS.map((kind) =>
    column(
      kind,
      'string',
      `.status.published[?(@.kind=="${kind}")].key`,
      `The ${kind.toLowerCase()} of the service.`,
      1,
    ),
  ),
  column(
    'Message',
    'string',
    ofCondition('NodesReady', 'message'),
    'Why the service is not in force, or not ready on nodes.',
    1,
  ),
  column('Dry-Run', 'boolean', '.spec.dryRun', 'Whether nothing is written to nodes.', 1),
  column('Age', 'date', '.metadata.creationTimestamp', 'Time since the creation of the object.'),
];

/** Any service on a node. */
export const NODE_SERVICE_CRD = clusterCrd(
  { kind: 'NodeService', plural: 'nodeservices', singular: 'nodeservice', shortNames: ['nsvc'] },
  {
    description: 'A service that must be up on a node for the node to do its job. Nodes show whether it is ready.',
    columns,
    selectable: ['.spec.mode'],
    validations: [
      validation(
        'size(self.metadata.name) <= 63 || has(self.spec.publish)',
        'metadata.name is too long for the label service.rollcall.dev/NAME: use at most 63 characters, or set publish',
      ),
    ],
    spec: NODE_SERVICE_SPEC,
    status,
  },
);
