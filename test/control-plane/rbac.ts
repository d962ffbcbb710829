import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import { GRANTS } from '../../deploy/source/manifests/accounts.ts';
import { type ApiClient, ApiError, type KubeObject } from './api-client.ts';
import { createNamespace, createServiceAccount, requestToken } from './cluster.ts';
import { waitFor } from './wait-for.ts';

/** The namespace that rollcall runs in, here and in the manifests. */
export const ownNamespace = 'rollcall';
export const agentServiceAccount = 'rollcall-agent';
const coordinatorServiceAccount = 'rollcall-coordinator';
/** The audience of the tokens that agents show to the coordinator. */
export const reportAudience = 'rollcall-coordinator';

const rbac = 'rbac.authorization.k8s.io';
const name = 'rollcall-coordinator';
const subjects = [{ kind: 'ServiceAccount', name: coordinatorServiceAccount, namespace: ownNamespace }];

/** All rights of the coordinator in the whole cluster. The agent has none. */
const coordinatorClusterRole: KubeObject = {
  apiVersion: `${rbac}/v1`,
  kind: 'ClusterRole',
  metadata: { name },
  rules: [
    ...Object.values<WatchedResource>(WATCHED).flatMap(({ group, resource, verbs, hasStatus }) => [
      { apiGroups: [group], resources: [resource], verbs },
      ...(hasStatus ? [{ apiGroups: [group], resources: [`${resource}/status`], verbs: ['patch'] }] : []),
    ]),
    { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
    // For --evict.
    { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  ],
};

/** Rights of the coordinator in its own namespace. */
const coordinatorRole: KubeObject = {
  apiVersion: `${rbac}/v1`,
  kind: 'Role',
  metadata: { name, namespace: ownNamespace },
  // By name; those of the Job as well, as tests prune with this account.
  rules: GRANTS.filter((grant) => grant.name !== undefined).map(({ group, resource, name: object = '', verbs }) => ({
    apiGroups: [group],
    resources: [resource],
    resourceNames: [object],
    verbs,
  })),
};

const coordinatorClusterRoleBinding: KubeObject = {
  apiVersion: `${rbac}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
  subjects,
};

const coordinatorRoleBinding: KubeObject = {
  apiVersion: `${rbac}/v1`,
  kind: 'RoleBinding',
  metadata: { name, namespace: ownNamespace },
  roleRef: { apiGroup: rbac, kind: 'Role', name },
  subjects,
};

export interface InstalledAccess {
  /** Path of a kubeconfig with the coordinator's own token, good for a day. */
  readonly coordinatorKubeconfig: string;
  readonly coordinatorToken: string;
}

/** Installs namespace, service accounts and rights, so that no test runs the coordinator as admin. */
export async function installAccess(cluster: {
  api: ApiClient;
  kubeconfigFor: (token: string) => Promise<string>;
}): Promise<InstalledAccess> {
  const { api } = cluster;
  await createNamespace(api, ownNamespace);
  await createServiceAccount(api, ownNamespace, agentServiceAccount);
  await createServiceAccount(api, ownNamespace, coordinatorServiceAccount);
  await createOwnObjects(api);
  await api.post(`/apis/${rbac}/v1/clusterroles`, coordinatorClusterRole);
  await api.post(`/apis/${rbac}/v1/clusterrolebindings`, coordinatorClusterRoleBinding);
  await api.post(`/apis/${rbac}/v1/namespaces/${ownNamespace}/roles`, coordinatorRole);
  await api.post(`/apis/${rbac}/v1/namespaces/${ownNamespace}/rolebindings`, coordinatorRoleBinding);
  await waitForRights(api);
  const coordinatorToken = await requestToken(api, {
    namespace: ownNamespace,
    serviceAccount: coordinatorServiceAccount,
    expirationSeconds: 86_400,
  });
  return { coordinatorToken, coordinatorKubeconfig: await cluster.kubeconfigFor(coordinatorToken) };
}

/** Creates what the coordinator keeps its certificates in, as the chart has it. What is there stays. */
export async function createOwnObjects(api: ApiClient): Promise<void> {
  const objects = { secrets: 'rollcall-coordinator-tls', configmaps: 'rollcall-coordinator-ca' };
  for (const [resource, object] of Object.entries(objects)) {
    const path = `/api/v1/namespaces/${ownNamespace}/${resource}`;
    await api.post(path, { metadata: { name: object } }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
    });
  }
}

/** The CA that the coordinator has published, once there is one, in PEM. */
export function publishedCa(api: ApiClient, timeoutMs = 30_000): Promise<string> {
  const path = `/api/v1/namespaces/${ownNamespace}/configmaps/rollcall-coordinator-ca`;
  const read = async () => (await api.get<KubeObject & { data?: Record<string, string> }>(path)).data?.['ca.crt'];
  return waitFor('the published CA', read, { timeoutMs });
}

/** Takes back what {@link installAccess} made; what is gone already is no error. */
export async function removeAccess(client: ApiClient): Promise<void> {
  const paths = [
    `/apis/${rbac}/v1/clusterrolebindings/${name}`,
    `/apis/${rbac}/v1/clusterroles/${name}`,
    `/api/v1/namespaces/${ownNamespace}`,
  ];
  for (const path of paths) {
    await client.delete(path).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    });
  }
}

/** A token as the kubelet projects it into the agent's pod: bound to the pod, and so to its node. */
export function requestAgentToken(
  client: ApiClient,
  pod: { name: string; uid: string },
  expirationSeconds = 3600,
): Promise<string> {
  return requestToken(client, {
    namespace: ownNamespace,
    serviceAccount: agentServiceAccount,
    audiences: [reportAudience],
    boundPod: pod,
    expirationSeconds,
  });
}

/** The authorizer learns of new roles by watching them, a moment after they are written. */
async function waitForRights(client: ApiClient): Promise<void> {
  const user = `system:serviceaccount:${ownNamespace}:${coordinatorServiceAccount}`;
  const review = async (resourceAttributes: object) => {
    const answer = await client.post<KubeObject & { status: { allowed: boolean } }>(
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user, resourceAttributes } },
    );
    return answer.status.allowed;
  };
  await waitFor('the rights of the coordinator', async () => {
    const nodes = await review({ verb: 'list', resource: 'nodes' });
    const lease = { group: 'coordination.k8s.io', resource: 'leases', namespace: ownNamespace, name };
    return nodes && (await review({ verb: 'patch', ...lease }));
  });
}
