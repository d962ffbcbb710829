import { type ApiClient, ApiError, type KubeObject } from './api-client.ts';
import type { ControlPlane } from './control-plane.ts';

interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
}

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface NodeObject extends KubeObject {
  spec: { taints?: Taint[]; unschedulable?: boolean; podCIDR?: string };
  status: { conditions?: Condition[]; addresses?: { type: string; address: string }[] };
}

export interface PodObject extends KubeObject {
  spec: { nodeName?: string; serviceAccountName?: string };
  status: { phase?: string; conditions?: Condition[]; podIP?: string; hostIP?: string };
}

export interface NodeOptions {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly taints?: readonly Taint[];
  readonly podCIDR?: string;
  /** Defaults to `10.0.0.1`. */
  readonly internalIP?: string;
  /** Defaults to `true`. */
  readonly ready?: boolean;
}

const capacity = { cpu: '16', memory: '64Gi', pods: '110', 'ephemeral-storage': '100Gi' };

/**
 * Creates a Node as a kubelet that is up leaves it: addresses, capacity, the Ready condition, and none of the taints that
 * the API server puts on a Node at its creation (here no controller would take them off).
 */
export async function createNode(client: ApiClient, name: string, options: NodeOptions = {}): Promise<NodeObject> {
  const ready = options.ready ?? true;
  const taints = options.taints ?? [];
  const created = await client.post<NodeObject>('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...options.labels },
      annotations: { ...options.annotations },
    },
    spec: {
      taints,
      ...(options.podCIDR === undefined ? {} : { podCIDR: options.podCIDR, podCIDRs: [options.podCIDR] }),
    },
  });
  if (ready) await removeNotReadyTaint(client, created);
  return setNodeReady(client, name, ready, options.internalIP ?? '10.0.0.1');
}

/** The one that the API server put there; what others have added or removed by now stays so. */
export async function removeNotReadyTaint(client: ApiClient, node: NodeObject): Promise<void> {
  const index = node.spec.taints?.findIndex(({ key }) => key === 'node.kubernetes.io/not-ready') ?? -1;
  if (index < 0) return;
  const path = `/api/v1/nodes/${node.metadata.name}`;
  const taint = `/spec/taints/${index}`;
  const operations = [
    { op: 'test', path: `${taint}/key`, value: 'node.kubernetes.io/not-ready' },
    { op: 'remove', path: taint },
  ];
  try {
    await client.patch(path, operations, 'application/json-patch+json');
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error;
    await removeNotReadyTaint(client, await client.get<NodeObject>(path));
  }
}

/** Sets the Ready condition through the status subresource, and the addresses when an address is given. */
export function setNodeReady(
  client: ApiClient,
  name: string,
  ready: boolean,
  internalIP?: string,
): Promise<NodeObject> {
  const addresses = [
    { type: 'InternalIP', address: internalIP },
    { type: 'Hostname', address: name },
  ];
  const status = { ...(internalIP === undefined ? {} : { addresses, capacity, allocatable: capacity }) };
  const body = { status: { ...status, conditions: [readyCondition(ready, 'KubeletReady')] } };
  // A merge keeps the conditions of others, as a kubelet does.
  const contentType = 'application/strategic-merge-patch+json';
  return client.patch<NodeObject>(`/api/v1/nodes/${name}/status`, body, contentType);
}

/** Creates a namespace and, as the controller-manager would, its service account `default`. */
export async function createNamespace(client: ApiClient, name: string): Promise<KubeObject> {
  const namespace = await client.post('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  });
  await createServiceAccount(client, name, 'default');
  return namespace;
}

/** Creates a service account, unless it is there: where a controller-manager runs, it makes `default` by itself. */
export async function createServiceAccount(client: ApiClient, namespace: string, name: string): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } };
  await client.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, body).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.reason !== 'AlreadyExists') throw error;
  });
}

export interface PodOptions {
  readonly namespace: string;
  readonly name: string;
  /** Without one the pod waits for a scheduler. */
  readonly nodeName?: string;
  readonly labels?: Record<string, string>;
  /** Must exist; defaults to `default`. */
  readonly serviceAccount?: string;
  /** Running and Ready at once; otherwise the pod stays Pending and not ready. */
  readonly ready?: boolean;
  readonly podIP?: string;
  readonly hostIP?: string;
  /** More fields of the spec, such as tolerations, schedulerName or nodeSelector. */
  readonly spec?: Record<string, unknown>;
  /** Its ownerReferences. */
  readonly owners?: readonly object[];
}

/** Creates a pod with one container that no kubelet ever runs; its status is what the options say. */
export async function createPod(client: ApiClient, options: PodOptions): Promise<PodObject> {
  const { namespace, name } = options;
  const pod = await client.post<PodObject>(`/api/v1/namespaces/${namespace}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { ...options.labels }, ownerReferences: options.owners ?? [] },
    spec: {
      containers: [{ name: 'main', image: 'none' }],
      automountServiceAccountToken: false,
      serviceAccountName: options.serviceAccount ?? 'default',
      terminationGracePeriodSeconds: 0,
      ...(options.nodeName === undefined ? {} : { nodeName: options.nodeName }),
      ...options.spec,
    },
  });
  const { podIP, hostIP } = options;
  if (!options.ready && podIP === undefined && hostIP === undefined) return pod;
  return client.patch<PodObject>(`/api/v1/namespaces/${namespace}/pods/${name}/status`, {
    status: {
      ...runningOrNot(options.ready ?? false),
      ...(podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] }),
      ...(hostIP === undefined ? {} : { hostIP, hostIPs: [{ ip: hostIP }] }),
    },
  });
}

/** Makes a pod Running and Ready, or Running and not Ready. */
export function setPodReady(client: ApiClient, namespace: string, name: string, ready: boolean): Promise<PodObject> {
  return client.patch<PodObject>(`/api/v1/namespaces/${namespace}/pods/${name}/status`, {
    status: { ...runningOrNot(ready), phase: 'Running' },
  });
}

function runningOrNot(ready: boolean): { phase: string; conditions: object[] } {
  const conditions = [readyCondition(ready, 'Set'), { ...readyCondition(ready, 'Set'), type: 'ContainersReady' }];
  return { phase: ready ? 'Running' : 'Pending', conditions };
}

function readyCondition(ready: boolean, reason: string): object {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    type: 'Ready',
    status: ready ? 'True' : 'False',
    reason: ready ? reason : `${reason.replace('Ready', '')}NotReady`,
    lastTransitionTime: now,
  };
}

export interface TokenRequest {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Defaults to the API server's own. */
  readonly audiences?: readonly string[];
  /** Binds the token to the pod, and through it to the pod's node. */
  readonly boundPod?: { readonly name: string; readonly uid: string };
  /** Binds it to another object, such as a Node. */
  readonly boundObject?: { readonly kind: string; readonly name: string; readonly uid: string };
  /** At least 600, which the API server insists on; defaults to 3600. */
  readonly expirationSeconds?: number;
}

/** A token of a service account from the TokenRequest subresource, as a kubelet gets it for a pod. */
export async function requestToken(client: ApiClient, request: TokenRequest): Promise<string> {
  const { boundPod, boundObject = boundPod && { kind: 'Pod', ...boundPod } } = request;
  const path = `/api/v1/namespaces/${request.namespace}/serviceaccounts/${request.serviceAccount}/token`;
  const answer = await client.post<KubeObject & { status: { token: string } }>(path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      expirationSeconds: request.expirationSeconds ?? 3600,
      ...(request.audiences === undefined ? {} : { audiences: request.audiences }),
      ...(boundObject === undefined ? {} : { boundObjectRef: { apiVersion: 'v1', ...boundObject } }),
    },
  });
  return answer.status.token;
}

/** Applies a manifest (YAML or JSON, any number of documents) with kubectl, server-side, and returns what it says. */
export function applyManifest(controlPlane: Pick<ControlPlane, 'kubectl'>, yaml: string): Promise<string> {
  const args = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  return controlPlane.kubectl(args, { stdin: yaml });
}
