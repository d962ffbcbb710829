import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { type KubeApi, KubeApiError } from '../cluster/kube-api.ts';
import { type Lease, leaseNameOf, leasePath, unreachable } from '../cluster/leader.ts';
import { readConfig } from '../cluster/read-config.ts';
import type {
  ConfigMap,
  KarpenterPool,
  NetworkPolicy,
  NodeObject,
  NodeService,
  PodObject,
  Policy,
  PolicyBinding,
  PoolObject,
  Workload,
} from './objects.ts';

/** What was read, or why it could not be. `missing`: there is no such thing. */
export type Read<T> = { value: T } | { missing: boolean; problem: string };

/** What a check has to go by cannot be read. `isMissing`: there is no such thing. */
export class Unread extends Error {
  readonly isMissing: boolean;

  constructor({ missing, problem }: { missing: boolean; problem: string }) {
    super(problem);
    this.isMissing = missing;
  }
}

export function known<T>(read: Read<T>): T {
  if ('value' in read) return read.value;
  throw new Unread(read);
}

/** What was read, or something else where there is no such thing. */
export function orWhenMissing<T>(read: Read<T>, other: T): T {
  return 'missing' in read && read.missing ? other : known(read);
}

/** Whether agents are to run on the nodes, by the configuration of the coordinator. */
export function hasAgents(config: Evidence['config']): boolean {
  return !('value' in config) || config.value['agents'] !== false;
}

/** A right in the words of RBAC. */
export type Right = {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  name?: string;
  namespace?: string;
};

export const COMPONENT = 'app.kubernetes.io/component';

export type Evidence = {
  namespace: string;
  /** By the clock of the API server. */
  nowMs: number;
  /** How far the clock of the API server is ahead of this machine's. */
  clockAheadMs: number;
  version: Read<{ gitVersion: string; major: string; minor: string }>;
  /** Kinds of admission policies that the API server serves in v1. */
  admission: Read<string[]>;
  nodes: Read<NodeObject[]>;
  /** Deployments and DaemonSets of the whole cluster. */
  workloads: Read<Workload[]>;
  /** Those of the workloads that are DaemonSets. */
  daemonSets: Read<Workload[]>;
  coordinator: Read<Workload>;
  agent: Read<Workload>;
  /** In rollcall's namespace. */
  pods: Read<PodObject[]>;
  config: Read<Record<string, unknown>>;
  lease: Read<Lease>;
  ca: Read<ConfigMap>;
  /** In rollcall's namespace. */
  configMaps: Read<ConfigMap[]>;
  /** In rollcall's namespace. */
  serviceAccounts: Read<{ metadata: { name: string } }[]>;
  policies: Read<Policy[]>;
  bindings: Read<PolicyBinding[]>;
  mutatingPolicies: Read<Policy[]>;
  mutatingBindings: Read<PolicyBinding[]>;
  /** Names of the CRDs. */
  crds: Read<string[]>;
  nodeServices: Read<NodeService[]>;
  /** Of all namespaces. */
  nodePoolLabelSets?: Read<PoolObject[]>;
  nodePoolLabels?: Read<PoolObject[]>;
  nodeHolds: Read<{ metadata: { name: string } }[]>;
  karpenterPools: Read<KarpenterPool[]>;
  /** NodeReadinessRules of node-readiness-controller. */
  readinessRules: Read<{ metadata: { name: string }; spec?: { taint?: { key: string } } }[]>;
  networkPolicies: Read<NetworkPolicy[]>;
  /** Whether the current user, or the named account, has a right. */
  may: (right: Right, user?: string) => Promise<Read<boolean>>;
  /** Pods with a label, in all namespaces. */
  podsWith: (selector: string) => Promise<Read<PodObject[]>>;
};

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';

/** Reads what checks go by, as the one who asks. What may not be read does not keep the rest from being read. */
export async function gather(kube: KubeApi, namespace: string, nowMs: number): Promise<Evidence> {
  const inNamespace = `namespaces/${encodeURIComponent(namespace)}`;
  const list = <T>(path: string) => read(() => kube.list<T>(path));
  const get = <T>(path: string) => read(() => kube.get<T>(path));
  const first = await together({
    version: get<{ gitVersion: string; major: string; minor: string }>('/version'),
    admission: read(async () =>
      (await kube.get<{ resources: { name: string }[] }>(ADMISSION)).resources.map(({ name }) => name),
    ),
    nodes: read(() => kube.list<NodeObject>('/api/v1/nodes', trimmedNode)),
    deployments: list<Workload>('/apis/apps/v1/deployments'),
    daemonSets: list<Workload>('/apis/apps/v1/daemonsets'),
    pods: list<PodObject>(`/api/v1/${inNamespace}/pods`),
    config: read(() => readConfig(kube, namespace)),
    ca: get<ConfigMap>(`/api/v1/${inNamespace}/configmaps/rollcall-coordinator-ca`),
  });
  const leaseName = leaseNameOf('value' in first.config ? first.config.value : {});
  const second = await together({
    lease: get<Lease>(leasePath(namespace, leaseName)),
    coordinator: get<Workload>(`/apis/apps/v1/${inNamespace}/deployments/rollcall-coordinator`),
    agent: get<Workload>(`/apis/apps/v1/${inNamespace}/daemonsets/rollcall-agent`),
    policies: list<Policy>(`${ADMISSION}/validatingadmissionpolicies`),
    bindings: list<PolicyBinding>(`${ADMISSION}/validatingadmissionpolicybindings`),
    mutatingPolicies: list<Policy>(`${ADMISSION}/mutatingadmissionpolicies`),
    mutatingBindings: list<PolicyBinding>(`${ADMISSION}/mutatingadmissionpolicybindings`),
    crds: read(async () => {
      const all = await kube.list<{ metadata: { name: string } }>(
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      );
      return all.map(({ metadata }) => metadata.name);
    }),
    nodeServices: list<NodeService>('/apis/rollcall.dev/v1alpha1/nodeservices'),
    nodePoolLabelSets: list<PoolObject>('/apis/labels.banzaicloud.io/v1alpha1/nodepoollabelsets'),
    nodePoolLabels: list<PoolObject>('/apis/rollcall.dev/v1alpha1/nodepoollabels'),
    nodeHolds: list<{ metadata: { name: string } }>('/apis/rollcall.dev/v1alpha1/nodeholds'),
    karpenterPools: list<KarpenterPool>('/apis/karpenter.sh/v1/nodepools'),
    readinessRules: list<{ metadata: { name: string } }>('/apis/readiness.node.x-k8s.io/v1alpha1/nodereadinessrules'),
    configMaps: list<ConfigMap>(`/api/v1/${inNamespace}/configmaps`),
    serviceAccounts: list<{ metadata: { name: string } }>(`/api/v1/${inNamespace}/serviceaccounts`),
    networkPolicies: list<NetworkPolicy>(`/apis/networking.k8s.io/v1/${inNamespace}/networkpolicies`),
  });
  const { deployments, ...rest } = first;
  return {
    namespace,
    nowMs: nowMs + kube.clockAheadMs,
    clockAheadMs: kube.clockAheadMs,
    ...rest,
    ...second,
    workloads: both(deployments, first.daemonSets),
    may: (right, user) => read(() => review(kube, right, user)),
    podsWith: (selector) => list<PodObject>(`/api/v1/pods?labelSelector=${encodeURIComponent(selector)}`),
  };
}

/** Half of what was asked for proves nothing. */
function both<T>(one: Read<T[]>, other: Read<T[]>): Read<T[]> {
  if (!('value' in one)) return one;
  return 'value' in other ? { value: [...one.value, ...other.value] } : other;
}

/** A Node is large, and there may be thousands. */
function trimmedNode({ metadata, spec: { taints = [] } = {} }: NodeObject): NodeObject {
  const { name, labels = {}, annotations = {}, managedFields = [] } = metadata;
  const list = annotations[MANAGED_LABELS_ANNOTATION];
  const managers = managedFields.map(({ manager = '' }) => ({ manager }));
  return {
    metadata: {
      ...{ name, labels },
      ...(list === undefined ? {} : { annotations: { [MANAGED_LABELS_ANNOTATION]: list } }),
      ...(managers.length === 0 ? {} : { managedFields: managers }),
    },
    spec: { taints },
  };
}

/** Pods of `agent` or `coordinator` that are not being deleted. */
export function podsOf({ pods }: Pick<Evidence, 'pods'>, component: string): PodObject[] {
  return known(pods).filter(
    ({ metadata }) => metadata.labels?.[COMPONENT] === component && metadata.deletionTimestamp === undefined,
  );
}

type Settled<T> = { [K in keyof T]: Awaited<T[K]> };

/** What each of these comes to, by its name. */
async function together<T extends Readonly<Record<string, Promise<unknown>>>>(work: T): Promise<Settled<T>> {
  const settled = Object.entries(work).map(async ([name, promise]) => [name, await promise] as const);
  return Object.fromEntries(await Promise.all(settled)) as Settled<T>;
}

async function read<T>(work: () => Promise<T>): Promise<Read<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof KubeApiError && error.status !== 401)
      return { missing: error.status === 404, problem: error.message };
    throw unreachable(error);
  }
}

async function review(kube: KubeApi, right: Right, user: string | undefined): Promise<boolean> {
  const resourceAttributes = {
    verb: right.verb,
    group: right.group,
    resource: right.resource,
    ...(right.subresource === undefined ? {} : { subresource: right.subresource }),
    ...(right.name === undefined ? {} : { name: right.name }),
    ...(right.namespace === undefined ? {} : { namespace: right.namespace }),
  };
  const kind = user === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview';
  const spec = { resourceAttributes, ...(user === undefined ? {} : { user, groups: groupsOf(user) }) };
  const apiVersion = 'authorization.k8s.io/v1';
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
  const answer = await kube.post<{ status?: { allowed?: boolean } }>(path, { apiVersion, kind, spec });
  return answer.status?.allowed === true;
}

function groupsOf(user: string): string[] {
  const [, , namespace = ''] = user.split(':');
  return ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}
