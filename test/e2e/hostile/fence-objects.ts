import type { KubeObject } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import {
  applyCrd,
  nodePoolLabels,
  type PoolCluster,
  poolLabelSet,
  poolLabelsPath,
  poolsPath,
} from '../pools/pool-cluster.ts';
import { type Entry, fieldsOfOthers } from './fence-victim.ts';

// The objects that the coordinator's account writes besides Nodes.

const CORE = '/api/v1/namespaces/rollcall';
export const SECRET = `${CORE}/secrets/rollcall-coordinator-tls`;
export const CONFIG_MAP = `${CORE}/configmaps/rollcall-coordinator-ca`;
export const LEASE = '/apis/coordination.k8s.io/v1/namespaces/rollcall/leases/rollcall-coordinator';
const KINDS = '/apis/rollcall.dev/v1alpha1';
const CONDITIONS = [
  { type: 'Ready', status: 'True', reason: 'A', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
];

/** Each object, with what its owner may write. Of the last four, that is the status. */
export const OWN_OBJECTS: readonly { path: string; content: readonly Record<string, object>[] }[] = [
  { path: SECRET, content: [{ data: { 'ca.crt': 'eA==' } }, { data: { 'tls.key': 'eQ==', 'tls.crt': 'eA==' } }] },
  { path: CONFIG_MAP, content: [{ data: { 'ca.crt': 'x' } }, { data: { 'ca.crt': 'y' } }] },
  { path: LEASE, content: [{ spec: { holderIdentity: 'me' } }, { spec: { leaseTransitions: 1 } }] },
  {
    path: `${KINDS}/nodeservices/checked`,
    content: [{ status: { ready: '1/1' } }, { status: { conditions: CONDITIONS } }],
  },
  { path: `${KINDS}/nodeholds/held`, content: [{ status: { nodesHeld: 1 } }, { status: { conditions: CONDITIONS } }] },
  {
    path: `${poolLabelsPath()}/gold`,
    content: [{ status: { nodesMatched: 1 } }, { status: { conditions: CONDITIONS } }],
  },
  { path: `${poolsPath()}/gold`, content: [{ status: { nodesMatched: 2 } }, { status: { conditions: CONDITIONS } }] },
];

/** Creates what is not there, with something that another client owns in each. */
export async function makeOwnObjects(cluster: PoolCluster): Promise<void> {
  const { api } = cluster;
  await applyCrd(cluster);
  const group = { apiVersion: 'rollcall.dev/v1alpha1' };
  const spec = { checks: [{ name: 'a', tcp: { port: 1 } }] };
  const holding = { pods: { namespace: 'a', selector: { matchLabels: { app: 'a' } } } };
  const made: [string, object][] = [
    [LEASE, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'rollcall-coordinator' } }],
    [`${KINDS}/nodeservices/checked`, { ...group, kind: 'NodeService', metadata: { name: 'checked' }, spec }],
    [`${KINDS}/nodeholds/held`, { ...group, kind: 'NodeHold', metadata: { name: 'held' }, spec: holding }],
    [`${poolLabelsPath()}/gold`, nodePoolLabels('gold', { tier: 'gold' })],
    [`${poolsPath()}/gold`, poolLabelSet('gold', { tier: 'gold' })],
  ];
  for (const [path, object] of made) {
    await waitFor(path, () => api.post(path.slice(0, path.lastIndexOf('/')), object).catch(() => undefined));
  }
  for (const { path } of OWN_OBJECTS) {
    await api.patch(`${path}?fieldManager=helm`, { metadata: { labels: { chart: 'x' }, annotations: { mine: '1' } } });
  }
}

/** What is not the account's to change of each object. */
export async function foreignOfObjects({ api }: PoolCluster): Promise<object[]> {
  return Promise.all(
    OWN_OBJECTS.map(async ({ path, content }) => {
      const whole = await api.get<KubeObject>(path);
      const { metadata, ...object } = whole;
      const field = Object.keys(content[0] ?? {})[0] ?? '';
      const { labels, annotations = {}, ownerReferences, finalizers, uid } = metadata as Record<string, object>;
      const entries = (metadata['managedFields'] ?? []) as Entry[];
      const own = entries.filter(({ manager }) => manager === 'rollcall');
      const kept = Object.entries(annotations).filter(([key]) => !key.startsWith('rollcall.dev/'));
      return {
        ...object,
        [field]: undefined,
        metadata: { uid, labels, ownerReferences, finalizers, annotations: Object.fromEntries(kept) },
        fields: fieldsOfOthers(whole),
        isSmall: JSON.stringify(own).length < 20_000 && own.length <= 4,
      };
    }),
  );
}

/** The entries of an object in managedFields, with one that is changed, added or removed. */
export function forgedIn({ metadata }: KubeObject, random: () => number): Entry[] {
  const entries = structuredClone((metadata['managedFields'] ?? []) as Entry[]);
  const index = Math.floor(random() * entries.length);
  const field = ['f:data', 'f:spec', 'f:status', 'f:metadata'][Math.floor(random() * 4)] ?? '';
  const fieldsV1 = { [field]: { [`f:${'x'.repeat(3000)}`]: {} } };
  const added = { operation: 'Update', apiVersion: entries[0]?.apiVersion ?? 'v1', fieldsType: 'FieldsV1', fieldsV1 };
  const manager = ['rollcall', 'helm', 'ancient-changes'][Math.floor(random() * 3)] ?? '';
  const kind = random();
  if (kind < 0.3) entries.splice(index, 1);
  else if (kind < 0.6) entries.push({ ...added, manager });
  else if (entries[index])
    entries[index] = { ...entries[index], fieldsV1: { ...entries[index].fieldsV1, ...fieldsV1 } };
  return entries;
}
