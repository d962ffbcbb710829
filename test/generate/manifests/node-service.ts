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
    namespace: text('Where the pods are.', NAMESPACE),
    selector: labelSelector('Which pods.', true),
    daemonSet: text('Only pods that this DaemonSet controls count.', SUBDOMAIN),
  },
};

const isKey = validation('!format.qualifiedName().validate(self).hasValue()', `this is no key: ${KEY_RULE}`);
const RESERVED = "self.matches('^([^/]*[.])?(k8s|kubernetes)[.]io/')";
const KNOWN_TAINTS =
  "self.startsWith('readiness.k8s.io/') || self.startsWith('startup-taint.cluster-autoscaler.kubernetes.io/') || " +
  "self.startsWith('status-taint.cluster-autoscaler.kubernetes.io/')";

const publish = {
  description: 'What nodes show of it. Left out: the label service.rollcall.dev/NAME.',
  type: 'object',
  properties: {
    label: text('A label with the value "true", there exactly while the service is ready.', {
      maxLength: KEY_LENGTH_MAX,
      'x-kubernetes-validations': [
        isKey,
        validation(
          `!${RESERVED}`,
          'a label may not be in the domains k8s.io and kubernetes.io, which are those of Kubernetes',
        ),
      ],
    }),
    taint: {
      description:
        'A taint, there exactly while the service is not ready. Its key is taken whatever its value and effect.',
      type: 'object',
      required: ['key', 'effect'],
      properties: {
        key: text('The key of the taint.', {
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
        value: text('The value of the taint.', { ...LABEL_VALUE, default: '' }),
        effect: text(
          'What it does to pods that do not tolerate it. NoExecute evicts them, which the coordinator has to be told to allow; it is never put on a node because its agent is silent.',
          { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
        ),
      },
    },
    condition: text('Type of a condition of the node: True, False, or Unknown while no agent vouches for either.', {
      maxLength: 316,
      'x-kubernetes-validations': [
        isKey,
        validation(
          `!(self in ${celList(KUBELET_CONDITIONS)})`,
          'this condition is written by kubelets and networks: choose another type, such as example.com/EBSReady',
        ),
      ],
    }),
  },
  'x-kubernetes-validations': [
    validation(
      'has(self.label) || has(self.taint) || has(self.condition)',
      'it has to have a label, a taint or a condition; leave publish out for the label service.rollcall.dev/NAME',
    ),
  ],
};

/** What a NodeService asks for, as its CRD has it. */
export const NODE_SERVICE_SPEC = {
  description: 'What has to be up on a node, what tells whether it is, and what the node shows of it.',
  type: 'object',
  properties: {
    nodeSelector: labelSelector('The nodes that it is for, by their labels; every node unless told.'),
    pods,
    probe,
    csiDriver: text('Evidence: the CSINode of the node lists this driver.', SUBDOMAIN),
    devices: {
      description:
        'Evidence: what the agent sees of known accelerators on the node, and of their drivers. All of it has to be so.',
      type: 'array',
      minItems: 1,
      maxItems: 16,
      'x-kubernetes-list-type': 'atomic',
      items: text(
        'NAME >= NUMBER, of which there have to be so many (or =, >, <, <=; NAME alone: some), or driver:NAME = DRIVER, which ' +
          'has to be bound to all of them. NAME is that of the label device.rollcall.dev/NAME, or gpu for any GPU.',
        {
          minLength: 1,
          maxLength: 128,
          'x-kubernetes-validations': [
            validation(
              "self.matches('^ *(count:|driver:)?[a-z0-9-]+ *((=|>|>=|<|<=) *[A-Za-z0-9_.*?-]+|in *[(][A-Za-z0-9_.*?, -]+[)])? *$')",
              'it has to be like "edgetpu >= 1" or "driver:nvidia-gpu = nvidia"',
            ),
          ],
        },
      ),
    },
    mode: text(
      'Continuous: judged all the time. Startup: judged until it is ready on a node for the first time, and then left.',
      { enum: ['Continuous', 'Startup'], default: 'Continuous' },
    ),
    publish,
  },
  'x-kubernetes-validations': [
    validation(
      'has(self.pods) || has(self.probe) || has(self.csiDriver) || has(self.devices)',
      'nothing would tell whether it is ready: it needs pods, a probe, a csiDriver or devices',
    ),
    validation(
      "has(self.pods) || !has(self.probe) || !has(self.probe.host) || self.probe.host != 'Pod'",
      'probe.host is Pod, but there are no pods whose address could be asked',
    ),
  ],
};

const status = {
  description: 'What became of it. Written by rollcall.',
  type: 'object',
  properties: {
    observedGeneration,
    nodesSelected: count('Nodes that it is for.'),
    nodesReady: count('Nodes on which it is ready.'),
    nodesNotReady: count('Nodes on which it is not ready.'),
    nodesUnknown: count('Nodes of which nobody can tell.'),
    provenTaint: text(
      'The taint that was seen to go from a node when the service was ready, so that it is put on any node.',
    ),
    conditions: conditions(
      'How it stands: Accepted and Ready.',
      'Accepted: it is published. Ready: it is ready on every node that it is for.',
    ),
  },
};

const columns = [
  column('Nodes', 'integer', '.status.nodesSelected', 'Nodes that it is for.'),
  column('Ready-Nodes', 'integer', '.status.nodesReady', 'Those on which it is ready.'),
  column('Not-Ready', 'integer', '.status.nodesNotReady', 'Those on which it is not.'),
  column('Unknown', 'integer', '.status.nodesUnknown', 'Those of which nobody can tell.', 1),
  column('Accepted', 'string', ofCondition('Accepted', 'status'), 'It is published.'),
  column('Ready', 'string', ofCondition('Ready', 'status'), 'It is ready on every node that it is for.'),
  column('Message', 'string', ofCondition('Accepted', 'message'), 'Why it is accepted or not.', 1),
  column('Age', 'date', '.metadata.creationTimestamp', 'Since it was made.'),
];

/** Any service on a node. */
export const NODE_SERVICE_CRD = clusterCrd(
  { kind: 'NodeService', plural: 'nodeservices', singular: 'nodeservice', shortNames: ['nsvc'] },
  {
    description: 'Something that has to be up on a node for the node to do its job. Nodes show whether it is.',
    columns,
    validations: [
      validation(
        'size(self.metadata.name) <= 63 || has(self.spec.publish)',
        'the name would be part of the label service.rollcall.dev/NAME, and is too long: name it with at most 63 characters, or set publish',
      ),
    ],
    spec: NODE_SERVICE_SPEC,
    status,
  },
);
