import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { cel } from './cel.ts';
import { manifestText } from './manifest.ts';

const NAME = 'rollcall-startup-taint';
const ADMISSION = 'admissionregistration.k8s.io/v1';

/** Nodes with this label are gated by default; the selector of the binding can be edited. */
export const GATE_SELECTOR = { matchLabels: { 'rollcall.dev/startup-gate': 'true' } };

/**
 * Selected nodes get the startup taint in the request that creates them. `objectSelector` is a label selector, or what
 * stands for one.
 */
export function startupTaintPolicy(objectSelector: unknown = GATE_SELECTOR): string {
  const taint = `Object.spec.taints{key: '${STARTUP_TAINT}', effect: 'NoSchedule'}`;
  return manifestText([
    {
      about: 'Keeps pods off a new Node until the coordinator takes the taint off.',
      object: {
        apiVersion: ADMISSION,
        kind: 'MutatingAdmissionPolicy',
        metadata: { name: NAME },
        spec: {
          failurePolicy: 'Ignore',
          reinvocationPolicy: 'IfNeeded',
          matchConstraints: {
            resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodes'] }],
          },
          matchConditions: [
            {
              name: 'not-there-yet',
              expression: `!object.spec.?taints.orValue([]).exists(t, t.key == '${STARTUP_TAINT}')`,
            },
          ],
          mutations: [
            {
              patchType: 'JSONPatch',
              jsonPatch: {
                expression: cel(`
                  size(object.spec.?taints.orValue([])) == 0
                  ? [JSONPatch{op: 'add', path: '/spec/taints', value: [${taint}]}]
                  : [JSONPatch{op: 'add', path: '/spec/taints/-', value: ${taint}}]`),
              },
            },
          ],
        },
      },
    },
    {
      about: 'Which nodes: those with this label at their creation, so none unless asked for. Edit it as you like.',
      object: {
        apiVersion: ADMISSION,
        kind: 'MutatingAdmissionPolicyBinding',
        metadata: { name: NAME },
        spec: { policyName: NAME, matchResources: { objectSelector } },
      },
    },
  ]);
}
