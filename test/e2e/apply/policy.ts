import { waitFor } from '../../control-plane/wait-for.ts';
import { type Cluster, coordinatorClient, newNode } from './writer-rig.ts';

export type PolicyOptions = {
  reason: 'Invalid' | 'Forbidden' | 'RequestEntityTooLarge';
  /** CEL; what the coordinator writes must fulfill it. */
  expression: string;
  message: string;
  /** Metadata of a merge patch that must be refused once the policy is in force. */
  refused: object;
  /** The Node to try that on; defaults to one of the policy's own. */
  on?: string;
};

const group = '/apis/admissionregistration.k8s.io/v1';
const coordinator = 'system:serviceaccount:rollcall:rollcall-coordinator';
let policies = 0;

/** Puts a ValidatingAdmissionPolicy on the coordinator's writes and waits until it is in force. */
export async function startPolicy(cluster: Cluster, options: PolicyOptions): Promise<{ remove(): Promise<void> }> {
  const name = `policy-${++policies}`;
  const { api } = cluster.controlPlane;
  const on = options.on ?? name;
  if (options.on === undefined) await newNode(cluster, name);
  await api.post(`${group}/validatingadmissionpolicies`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes', 'nodes/status'] },
        ],
      },
      matchConditions: [{ name: 'coordinator', expression: `request.userInfo.username == '${coordinator}'` }],
      validations: [{ expression: options.expression, message: options.message, reason: options.reason }],
    },
  });
  await api.post(`${group}/validatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  const client = coordinatorClient(cluster);
  const isRefused = () =>
    client
      .request({
        method: 'PATCH',
        path: `/api/v1/nodes/${on}`,
        query: { dryRun: 'All' },
        contentType: 'application/merge-patch+json',
        body: { metadata: options.refused },
        timeoutMs: 5000,
      })
      .then(
        () => false,
        () => true,
      );
  await waitFor(`${name} to be in force`, isRefused);
  return {
    async remove() {
      await api.delete(`${group}/validatingadmissionpolicybindings/${name}`);
      await api.delete(`${group}/validatingadmissionpolicies/${name}`);
      await waitFor(`${name} to be out of force`, async () => !(await isRefused()));
      client.close();
    },
  };
}
