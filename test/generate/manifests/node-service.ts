import { KUBELET_CONDITIONS } from '@rollcall/common/well-known.ts';
import { celList } from './cel.ts';
import {
  clusterCrd,
  column,
  conditions,
  count,
  KEY_LENGTH_MAX,
  KEY_RULE,
  LABEL_VALUE,
  observedGeneration,
  ofCondition,
  text,
  validation,
} from './crd-parts.ts';
import { labelSelector } from './label-selector.ts';
import { probe } from './node-service-probe.ts';

const NAMESPACE = { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' };
const SUBDOMAIN = { maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' };

const pods = {
  description:
    'Evidence: a pod of it on the node is Ready and not terminating. Where a DaemonSet controls any of them on a node, ' +
    'others on it do not count.',
  type: 'object',
  required: ['namespace', 'selector'],
  properties: {
    namespace: text('Namespace of the pods.', NAMESPACE),
    selector: labelSelector('Label selector of the pods.', true),
    daemonSet: text('Only pods that this DaemonSet controls count.', SUBDOMAIN),
  },
};

const isKey = validation('!format.qualifiedName().validate(self).hasValue()', `not a valid key: ${KEY_RULE}`);
const RESERVED = "self.matches('^([^/]*[.])?(k8s|kubernetes)[.]io/')";
const KNOWN_TAINTS =
  "self.startsWith('readiness.k8s.io/') || self.startsWith('startup-taint.cluster-autoscaler.kubernetes.io/') || " +
  "self.startsWith('status-taint.cluster-autoscaler.kubernetes.io/')";

const publish = {
  description: 'Keys that nodes get for the service. Defaults to the label service.rollcall.dev/NAME.',
  type: 'object',
  properties: {
    label: text('Key of a label with the value "true", present exactly while the service is ready.', {
      maxLength: KEY_LENGTH_MAX,
      'x-kubernetes-validations': [
        isKey,
        validation(
          `!${RESERVED}`,
          'a label may not be in the domains k8s.io and kubernetes.io, which belong to Kubernetes: choose another key, such as example.com/ebs-ready',
        ),
      ],
    }),
    taint: {
      description:
        'A taint, present exactly while the service is not ready. rollcall owns every taint with this key, whatever its value and effect.',
      type: 'object',
      required: ['key', 'effect'],
      properties: {
        key: text('Key of the taint.', {
          maxLength: KEY_LENGTH_MAX,
          'x-kubernetes-validations': [
            isKey,
            validation(
              `!${RESERVED} || ${KNOWN_TAINTS}`,
              'in the domains k8s.io and kubernetes.io a taint may only begin with readiness.k8s.io/, ' +
                'startup-taint.cluster-autoscaler.kubernetes.io/ or status-taint.cluster-autoscaler.kubernetes.io/',
            ),
          ],
        }),
        value: text('Value of the taint.', { ...LABEL_VALUE, default: '' }),
        effect: text(
          'Effect on pods that do not tolerate the taint. NoExecute evicts them and requires --allow-no-execute of the coordinator; it is never added to a node because its agent is silent.',
          { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
        ),
      },
    },
    condition: text(
      'Type of a condition of the node: True while the service is ready, False while it is not, Unknown while the agent is silent.',
      {
        maxLength: 316,
        'x-kubernetes-validations': [
          isKey,
          validation(
            `!(self in ${celList(KUBELET_CONDITIONS)})`,
            'kubelets and networks write this condition: choose another type, such as example.com/EBSReady',
          ),
        ],
      },
    ),
  },
  'x-kubernetes-validations': [
    validation(
      'has(self.label) || has(self.taint) || has(self.condition)',
      'publish needs a label, a taint or a condition; omit publish for the label service.rollcall.dev/NAME',
    ),
  ],
};

/** Schema of the spec of a NodeService. */
export const NODE_SERVICE_SPEC = {
  description:
    'Which nodes the service belongs on, the evidence of its readiness, and the keys that nodes get for it. All evidence has to agree.',
  type: 'object',
  properties: {
    nodeSelector: labelSelector('Label selector of the nodes on which the service belongs. Defaults to all nodes.'),
    pods,
    probe,
    csiDriver: text('Evidence: the CSINode of the node lists this driver.', SUBDOMAIN),
    devices: {
      description:
        'Evidence: known accelerators that the agent sees on the node, and their drivers. All entries must be true.',
      type: 'array',
      minItems: 1,
      maxItems: 16,
      'x-kubernetes-list-type': 'atomic',
      items: text(
        'NAME >= NUMBER, of which there have to be so many (or =, >, <, <=; NAME alone: some), or driver:NAME = DRIVER, which ' +
          'has to be bound to all of them. NAME is the NAME of the label device.rollcall.dev/NAME, or gpu for any GPU.',
        {
          minLength: 1,
          maxLength: 128,
          'x-kubernetes-validations': [
            validation(
              "self.matches('^ *(count:|driver:)?[a-z0-9-]+ *((=|>|>=|<|<=) *[A-Za-z0-9_.*?-]+|in *[(][A-Za-z0-9_.*?, -]+[)])? *$')",
              'a device must have the form "edgetpu >= 1" or "driver:nvidia-gpu = nvidia"',
            ),
          ],
        },
      ),
    },
    mode: text(
      'Continuous: always checked. Startup: checked on a node until the service is ready there for the first time.',
      { enum: ['Continuous', 'Startup'], default: 'Continuous' },
    ),
    publish,
  },
  'x-kubernetes-validations': [
    validation(
      'has(self.pods) || has(self.probe) || has(self.csiDriver) || has(self.devices)',
      'no evidence of readiness: set pods, probe, csiDriver or devices',
    ),
    validation(
      "has(self.pods) || !has(self.probe) || !has(self.probe.host) || self.probe.host != 'Pod'",
      'probe.host is Pod, but pods is not set: set pods, or another host',
    ),
  ],
};

const status = {
  description: 'Observed state. Written by rollcall.',
  type: 'object',
  properties: {
    observedGeneration,
    nodesSelected: count('Number of nodes on which the service belongs.'),
    nodesReady: count('Number of nodes on which the service is ready.'),
    nodesNotReady: count('Number of nodes on which the service is not ready.'),
    nodesUnknown: count('Number of nodes on which the readiness is unknown.'),
    provenTaint: text(
      'The taint that was removed from a node because the service became ready there, and may therefore be added to any node.',
    ),
    conditions: conditions(
      'Conditions: Accepted and Ready.',
      'Accepted: rollcall publishes the service. Ready: the service is ready on every node on which it belongs.',
    ),
  },
};

const columns = [
  column('Nodes', 'integer', '.status.nodesSelected', 'Number of nodes on which the service belongs.'),
  column('Ready-Nodes', 'integer', '.status.nodesReady', 'Number of nodes on which the service is ready.'),
  column('Not-Ready', 'integer', '.status.nodesNotReady', 'Number of nodes on which the service is not ready.'),
  column('Unknown', 'integer', '.status.nodesUnknown', 'Number of nodes on which the readiness is unknown.', 1),
  column('Accepted', 'string', ofCondition('Accepted', 'status'), 'Whether rollcall publishes the service.'),
  column(
    'Ready',
    'string',
    ofCondition('Ready', 'status'),
    'Whether the service is ready on every node on which it belongs.',
  ),
  column('Message', 'string', ofCondition('Accepted', 'message'), 'Why the object is accepted or not.', 1),
  column('Age', 'date', '.metadata.creationTimestamp', 'Time since the creation of the object.'),
];

/** Any service on a node. */
export const NODE_SERVICE_CRD = clusterCrd(
  { kind: 'NodeService', plural: 'nodeservices', singular: 'nodeservice', shortNames: ['nsvc'] },
  {
    description: 'A service that must be up on a node for the node to do its job. Nodes show whether it is ready.',
    columns,
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
