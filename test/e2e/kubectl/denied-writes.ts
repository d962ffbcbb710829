import { waitFor } from '../../control-plane/wait-for.ts';
import type { RunbookStage } from './runbook-stage.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const COORDINATOR = 'system:serviceaccount:rollcall:rollcall-coordinator';

export type DeniedWrites = {
  /** Of the policy. */
  name: string;
  node: string;
  /** CEL, which the coordinator's writes of the Node must fulfill. */
  expression: string;
  /** A patch that does not, to see that the policy is in force. */
  refused: object;
};

/** A policy that somebody made, which denies some of what the coordinator writes. Waits until it is in force. */
export async function denyWrites({ controlPlane }: RunbookStage, denied: DeniedWrites): Promise<void> {
  const { name, node, expression, refused } = denied;
  await controlPlane.api.post(`${GROUP}/validatingadmissionpolicies`, {
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
      },
      matchConditions: [
        { name: 'coordinator', expression: `request.userInfo.username == '${COORDINATOR}'` },
        { name: 'node', expression: `object.metadata.name == '${node}'` },
      ],
      validations: [{ expression, message: `${name} forbids it` }],
    },
  });
  await controlPlane.api.post(`${GROUP}/validatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  const patch = ['patch', 'node', node, '--dry-run=server', '--type=merge', '-p', JSON.stringify(refused)];
  const isInForce = () =>
    controlPlane.kubectl(['--as', COORDINATOR, ...patch]).then(
      () => false,
      (error: unknown) => {
        if (!String(error).includes(`${name} forbids it`)) throw error;
        return true;
      },
    );
  await waitFor(`${name} to be in force`, isInForce, { everyMs: 300, timeoutMs: 30_000 });
}
