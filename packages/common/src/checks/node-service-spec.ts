import { LIFECYCLE_CONDITIONS } from '../node-lifecycle.ts';
import { KNOWN_TAINT_PREFIXES, KUBELET_CONDITIONS } from '../well-known.ts';
import { checks } from './checks.ts';
import { KEY_LENGTH_MAX, KEY_RULE, LABEL_VALUE, labelSelector } from './label-selector.ts';
import { celList, duration, type Schema, text, validation, yesOrNo } from './schema.ts';

const isKey = validation('!format.qualifiedName().validate(self).hasValue()', `not a valid key: ${KEY_RULE}`);
const RESERVED = "self.matches('^([^/]*[.])?(k8s|kubernetes)[.]io/')";
const isKnownTaint = KNOWN_TAINT_PREFIXES.map((prefix) => `self.startsWith('${prefix}')`).join(' || ');

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
              `!${RESERVED} || ${isKnownTaint}`,
              `in the domains k8s.io and kubernetes.io a taint may only begin with ${KNOWN_TAINT_PREFIXES.slice(0, -1).join(', ')} or ${KNOWN_TAINT_PREFIXES.at(-1)}`,
            ),
          ],
        }),
        value: text('Value of the taint.', { ...LABEL_VALUE, default: '' }),
        effect: text(
          'Effect on pods that do not tolerate the taint. NoExecute evicts them and requires --allow-no-execute of the coordinator; it is never added to a node because its agent is silent.',
          { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
        ),
        maxUnavailable: {
          description:
            'How many of the nodes that were open for the service its taint may close at a time: a number from 1, or a percentage of them from 1% to 100%, rounded down, but at least one node. Open were nodes that are older than status.inForceSince, and those on which the service was ready once; a younger node has the taint until the service is ready there for the first time. The other nodes wait, and are named in the status. It bounds evictions by readiness as well.',
          anyOf: [{ type: 'integer' }, { type: 'string' }],
          'x-kubernetes-int-or-string': true,
          default: '20%',
          maxLength: 4,
          'x-kubernetes-validations': [
            validation<unknown>(
              "type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",
              'maxUnavailable must be a number of nodes from 1, or a percentage from 1% to 100%',
              isMaxUnavailable,
            ),
          ],
        },
      },
    },
    condition: text(
      'Type of a condition of the node: True while the service is ready, False while it is not, Unknown while no source can tell, such as the agent of a service that it checks.',
      {
        maxLength: 316,
        'x-kubernetes-validations': [
          isKey,
          validation(
            `!(self in ${celList(KUBELET_CONDITIONS)})`,
            'kubelets and networks write this condition: choose another type, such as example.com/EBSReady',
          ),
          validation(
            `!(self in ${celList(LIFECYCLE_CONDITIONS)})`,
            'those who drain and maintain nodes write this condition: choose another type, such as example.com/EBSReady',
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

/** Whether a value is a number of nodes from 1, or a percentage from `1%` to `100%`. */
export function isMaxUnavailable(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && value >= 1;
  return typeof value === 'string' && /^([1-9][0-9]?|100)%$/.test(value);
}

/** The spec of a NodeService. */
export const NODE_SERVICE_SPEC: Schema = {
  description: 'Which nodes the service belongs on, the checks of its readiness, and the keys that nodes get for it.',
  type: 'object',
  required: ['checks'],
  properties: {
    nodeSelector: labelSelector('Label selector of the nodes on which the service belongs. Defaults to all nodes.'),
    checks,
    mode: text(
      'Continuous: always checked. Startup: checked on a node until the service is ready there for the first time.',
      { enum: ['Continuous', 'Startup'], default: 'Continuous' },
    ),
    startupDeadline: duration(
      'startupDeadline',
      'Time from the creation of a node after which the service, if it was never ready there, has failed to start: its condition has the reason StartupDeadlineExceeded.',
    ),
    publish,
    dryRun: yesOrNo(
      'Check the service and show the result in the status, but write nothing to nodes. It owns no key: others may have them, and what it published before is removed.',
    ),
  },
};
