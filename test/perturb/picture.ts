import type { ApiClient, KubeObject } from '../control-plane/api-client.ts';
import { NODE_POOL_LABEL_SETS, NODE_SERVICES } from './objects.ts';

type Condition = { type: string; status: string; reason?: string; message?: string };
export type NodeView = KubeObject & {
  spec: { taints?: { key: string; value?: string; effect: string }[] };
  status: { conditions?: Condition[] };
};
type ManagedFields = { manager: string; operation: string; subresource?: string; fieldsV1?: object };

/** State in the API server for which rollcall is responsible, by object: without versions, uids and times. */
export type Picture = Readonly<Record<string, unknown>>;

/** Read from the API server that is never behind. */
export async function takePicture(api: ApiClient): Promise<Picture> {
  const [nodes, services, sets, lease] = await Promise.all([
    api.list<NodeView>('/api/v1/nodes'),
    api.list(NODE_SERVICES),
    api.list(NODE_POOL_LABEL_SETS),
    leaseOf(api),
  ]);
  return {
    ...Object.fromEntries(nodes.map((node) => [`node ${node.metadata.name}`, pictureOf(node)])),
    ...Object.fromEntries([...services, ...sets].map((each) => [`${each.kind} ${each.metadata.name}`, each['status']])),
    lease: lease?.spec?.holderIdentity ? 'held' : 'free',
  };
}

export type LeaseView = KubeObject & { spec?: { holderIdentity?: string } };

export async function leaseOf(api: ApiClient): Promise<LeaseView | undefined> {
  const leases = await api.list<LeaseView>('/apis/coordination.k8s.io/v1/namespaces/rollcall/leases');
  return leases.find(({ metadata }) => metadata.name === 'rollcall-coordinator');
}

function pictureOf({ metadata, spec, status }: NodeView): object {
  const managers = (metadata['managedFields'] ?? []) as ManagedFields[];
  return {
    labels: metadata.labels ?? {},
    annotations: Object.fromEntries(
      Object.entries(metadata.annotations ?? {}).map(([key, value]) => [key, withoutUids(value)]),
    ),
    taints: [...(spec.taints ?? [])].sort(by(({ key }) => key)),
    conditions: (status.conditions ?? []).map(withoutCause).sort(by(({ type }) => type)),
    owners: managers
      .map(({ manager, operation, subresource = '', fieldsV1 }) => ({ manager, operation, subresource, fieldsV1 }))
      .sort(by(({ manager, operation, subresource }) => `${manager} ${operation} ${subresource}`)),
  };
}

/** Annotations of rollcall name NodeServices and Nodes by their uids, which differ from run to run. */
export function withoutUids(annotation: string): string {
  return annotation.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID');
}

/** Removes the cause: if two things end a service, the message names the first, and stays until the status changes. */
function withoutCause({ message = '', ...condition }: Condition): Condition {
  return { ...condition, message: message.split(': ')[0] ?? '' };
}

function by<T>(keyOf: (value: T) => string): (a: T, b: T) => number {
  return (a, b) => (keyOf(a) < keyOf(b) ? -1 : 1);
}

/** Times, and the owner of the map that keys are in, which is the writer of the first key: a JSON patch or an apply. */
const LEFT_OUT = ['lastTransitionTime', 'lastHeartbeatTime', 'inForceSince', '.'];

/** Equal for pictures that are alike. */
export function textOf(picture: unknown): string {
  return JSON.stringify(sorted(picture), null, 1);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => !LEFT_OUT.includes(key));
  return Object.fromEntries(entries.sort(by(([key]) => key)).map(([key, each]) => [key, sorted(each)]));
}

/** What rollcall put on a Node, in few words. */
export function oursOn({ metadata, spec, status }: NodeView): string[] {
  const labels = Object.entries(metadata.labels ?? {})
    .filter(([key]) => !/^(kubernetes\.io|nodepool\.banzaicloud\.io)\//.test(key))
    .map(([key, value]) => `${key}=${value}`);
  const taints = (spec.taints ?? []).map(({ key, effect }) => `taint ${key}:${effect}`);
  const conditions = (status.conditions ?? []).filter(({ type }) => type !== 'Ready');
  return [...labels, ...taints, ...conditions.map(({ type, status }) => `condition ${type}=${status}`)].sort();
}

/** What differs between the texts of two pictures, by its path. */
export function differences(expected: string, actual: string): string[] {
  const [before, after] = [leavesOf(JSON.parse(expected)), leavesOf(JSON.parse(actual))];
  const missing = before.filter((leaf) => !after.includes(leaf)).map((leaf) => `- ${leaf}`);
  return [...missing, ...after.filter((leaf) => !before.includes(leaf)).map((leaf) => `+ ${leaf}`)];
}

function leavesOf(value: unknown, path = ''): string[] {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) return [`${path}: ${JSON.stringify(value)}`];
  return entries.flatMap(([key, each]) => leavesOf(each, path === '' ? key : `${path} > ${key}`));
}
