import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import type { PoolCluster } from '../pools/pool-cluster.ts';
import { CONFIG_MAP, LEASE, makeOwnObjects, SECRET } from './fence-objects.ts';
import {
  type Attacker,
  type Entry,
  type Field,
  FOREIGN_LABELS,
  KEYS,
  NFD,
  startFencedCluster,
  victim,
} from './fence-victim.ts';

// Requests with the token of the coordinator whose form is odd: fields that no client has, many of one kind, what owners drop.

const APPLY = 'application/apply-patch+yaml';
const STRATEGIC = 'application/strategic-merge-patch+json';
const SIZE_MAX = 200_000;
const CONDITION = 'service.rollcall.dev/Theirs';
const AT = '2026-01-01T00:00:00Z';

let cluster: PoolCluster;
beforeAll(async () => {
  cluster = await startFencedCluster();
  await makeOwnObjects(cluster);
});
afterAll(() => cluster?.stop());

const listing = (id: string) => ({ [KEYS]: JSON.stringify({ [id]: 'rule' }) });
const nodePath = ({ name }: Attacker, subresource = '') => `/api/v1/nodes/${name}${subresource}`;

function stolen(method: string, path: string, body: object, type = 'application/merge-patch+json') {
  return cluster.coordinator.exchange(method, `${path}?fieldManager=rollcall`, JSON.stringify(body), type);
}

/** Applies a whole object for another client: what it does not name, it drops. */
function applied(path: string, body: object) {
  return cluster.api.patch(`${path}?fieldManager=owner&force=true`, body, APPLY);
}

async function sizeOf(act: Attacker): Promise<number> {
  return JSON.stringify(await act.read()).length;
}

function entriesOf({ metadata }: KubeObject): Entry[] {
  return structuredClone((metadata['managedFields'] ?? []) as Entry[]);
}

describe('an annotation that its owner drops goes', () => {
  test.each<[string, string, string]>([
    ['Secret', SECRET, 'v1'],
    ['ConfigMap', CONFIG_MAP, 'v1'],
    ['Lease', LEASE, 'coordination.k8s.io/v1'],
  ])('from the %s, although the entry of the owner was changed', async (kind, path, apiVersion) => {
    const name = path.split('/').at(-1);
    const own = (annotations?: object) =>
      applied(path, {
        apiVersion,
        kind,
        metadata: { name, labels: { keep: 'x' }, ...(annotations ? { annotations } : {}) },
      });
    await own({ tracked: 'x' });
    const object = await cluster.api.get<KubeObject>(path);
    const managedFields = entriesOf(object).map((entry) => {
      if (entry.manager !== 'owner') return entry;
      const { 'f:annotations': _annotations, ...metadata } = (entry.fieldsV1['f:metadata'] ?? {}) as Field;
      return { ...entry, fieldsV1: { ...entry.fieldsV1, 'f:metadata': metadata } };
    });
    const body = { ...object, metadata: { ...object.metadata, managedFields } };
    await stolen('PUT', path, body, 'application/json');
    await own();
    expect((await cluster.api.get<KubeObject>(path)).metadata.annotations).not.toHaveProperty('tracked');
  });
});

describe('conditions', () => {
  test.each<[string, object[]]>([
    ['long status', [{ type: CONDITION, status: 'x'.repeat(1_000_000) }]],
    ['number', Array.from({ length: 5000 }, () => ({ type: CONDITION, status: 'True' }))],
  ])('make no Node large by their %s', async (_how, added) => {
    const act = await victim(cluster);
    await stolen('PATCH', nodePath(act), { metadata: { annotations: listing(`condition:${CONDITION}`) } });
    const { status } = await act.read();
    const conditions = [...((status as { conditions?: object[] }).conditions ?? []), ...added];
    expect((await stolen('PATCH', nodePath(act, '/status'), { status: { conditions } })).status).toBe(422);
    expect(await sizeOf(act)).toBeLessThan(SIZE_MAX);
  });

  test.each(['A<B', 'A&B', 'A"B', 'A\\B', 'A\u2028B'])('of others stay, also with the type %s', async (end) => {
    const type = `service.rollcall.dev/${end}`;
    const act = await victim(cluster);
    const { status } = await act.read();
    const conditions = (status as { conditions?: object[] }).conditions ?? [];
    const path = `${nodePath(act, '/status')}?fieldManager=owner`;
    await cluster.api.patch(path, { status: { conditions: [{ type, status: 'False' }] } }, STRATEGIC);
    await stolen('PATCH', nodePath(act, '/status'), { status: { conditions } });
    const after = (await act.read()).status as { conditions?: { type: string }[] };
    expect(after.conditions?.map((each) => each.type)).toContain(type);
  });
});

describe('what its owner drops goes, although the coordinator applied the same:', () => {
  test('a label', async () => {
    const act = await victim(cluster);
    const own = (labels: object) =>
      applied(nodePath(act), {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: act.name, labels: { other: 'x', ...labels } },
      });
    const label = { 'service.rollcall.dev/dropped': 'theirs' };
    await own(label);
    await act.apply({ labels: label });
    await own({});
    expect((await act.read()).metadata.labels).not.toHaveProperty(['service.rollcall.dev/dropped']);
  });

  test('a condition', async () => {
    const act = await victim(cluster);
    const object = (conditions: object[]) => ({
      ...{ apiVersion: 'v1', kind: 'Node', metadata: { name: act.name }, status: { conditions } },
    });
    const times = { lastTransitionTime: AT, lastHeartbeatTime: AT };
    const condition = { type: CONDITION, status: 'False', reason: 'Theirs', message: 'm', ...times };
    await applied(nodePath(act, '/status'), object([condition]));
    await stolen('PATCH', nodePath(act, '/status'), object([condition]), APPLY);
    await applied(nodePath(act, '/status'), object([]));
    const after = (await act.read()).status as { conditions?: { type: string }[] };
    expect(after.conditions?.map((each) => each.type) ?? []).not.toContain(CONDITION);
  });
});

test.each([
  ['a line feed', '{"label:service.rollcall.dev/own":"a\nb"}'],
  ['NUL', '{"label:service.rollcall.dev/own":"a\u0000b"}'],
  ['a tab', '{"condition:service.rollcall.dev/a\tb":"x","label:service.rollcall.dev/own":"x"}'],
  ['a key twice', '{"label:service.rollcall.dev/own":"a","label:service.rollcall.dev/own":"b"}'],
  ['a key where its origin belongs', '{"label:gitpod.io/ws-daemon_ready_ns_default":"label:service.rollcall.dev/own"}'],
])('a list of keys with %s is refused', async (_what, text) => {
  const act = await victim(cluster);
  const before = (await act.read()).metadata.annotations?.[KEYS];
  await act.patch({ metadata: { labels: { 'service.rollcall.dev/own': 'true' }, annotations: { [KEYS]: text } } });
  expect((await act.read()).metadata.annotations?.[KEYS]).toBe(before);
});

test('a list of 9,000 keys that a kubelet wrote does not slow down the request that replaces it', async () => {
  const act = await victim(cluster);
  const planted = Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`label:a${1000 + index}`, 'rule']));
  await cluster.api.patch(nodePath(act), { metadata: { annotations: { [KEYS]: JSON.stringify(planted) } } });
  const key = 'device.rollcall.dev/own';
  const sentMs = performance.now();
  expect(await act.apply({ labels: { [key]: 'true' }, annotations: listing(`label:${key}`) })).toBeUndefined();
  expect(performance.now() - sentMs).toBeLessThan(1500);
});

test.each([
  [900, undefined],
  [1001, 'more than 1000 keys'],
])('a list of %i keys may be written, or hides none of another client', async (count, refusal) => {
  const act = await victim(cluster);
  const ids = Array.from({ length: count }, (_, index) => `condition:service.rollcall.dev/${1000 + index}`);
  // Lists are sorted: it is the last one.
  const all = refusal === undefined ? ids : [...ids, 'label:person'];
  const refused = await act.patch({
    metadata: { annotations: { [KEYS]: JSON.stringify(Object.fromEntries(all.map((id) => [id, 'rule']))) } },
  });
  if (refusal === undefined) expect(refused).toBeUndefined();
  else expect(refused).toContain(refusal);
});

test('a device label that no client owns after a reset is neither listed nor changed', async () => {
  const act = await victim(cluster);
  await cluster.api.patch(nodePath(act), { metadata: { managedFields: [{}] } });
  const annotations = listing(`label:${NFD}`);
  await act.patch({ metadata: { annotations } });
  await act.apply({ labels: { [NFD]: 'true' } });
  await act.apply({ labels: { [NFD]: 'true' }, annotations });
  await act.patch({ metadata: { labels: { [NFD]: null } } });
  await act.apply({ labels: { [NFD]: 'mine' }, annotations });
  const { labels, annotations: after } = (await act.read()).metadata;
  expect(labels?.[NFD]).toBe('true');
  expect(after?.[KEYS] ?? '').not.toContain(NFD);
});

test('what another client sets of a listed label of a service gets no value but true', async () => {
  const act = await victim(cluster);
  const key = 'service.rollcall.dev/free';
  await act.patch({ metadata: { labels: { [key]: 'true' }, annotations: listing(`label:${key}`) } });
  await act.patch({ metadata: { labels: { [key]: null } } });
  await cluster.api.patch(`${nodePath(act)}?fieldManager=owner`, { metadata: { labels: { [key]: 'theirs' } } });
  expect(await act.patch({ metadata: { labels: { [key]: 'mine' } } })).toContain('may not change the labels');
  expect((await act.read()).metadata.labels?.[key]).toBe('theirs');
});

test('an entry of another client gains no field for the map of labels as a whole', async () => {
  const act = await victim(cluster);
  const before = entriesOf(await act.read());
  await act.forge((entries) =>
    entries.map((entry) => {
      const metadata = (entry.fieldsV1['f:metadata'] ?? {}) as Field;
      const labels = { ...(metadata['f:labels'] as Field | undefined), '.': {} };
      return entry.manager === 'nfd-master'
        ? { ...entry, fieldsV1: { 'f:metadata': { ...metadata, 'f:labels': labels } } }
        : entry;
    }),
  );
  expect(entriesOf(await act.read())).toEqual(before);
});

describe('a Node whose managedFields were reset stays small:', () => {
  const entry = (fieldsV1: Field, more: object = {}) => ({
    ...{ manager: 'before-first-apply', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1 },
    ...more,
  });
  const labels = (names: readonly string[]): Field => ({
    'f:metadata': { 'f:labels': Object.fromEntries(names.map((name) => [name, {}])) },
  });
  const many = (count: number) => Array.from({ length: count }, (_, index) => index);
  const theirs = labels(Object.keys(FOREIGN_LABELS).map((key) => `f:${key}`));
  test.each<[string, object[]]>([
    ['names that are no fields', [entry(labels(many(900).map((at) => `k:{"a":"${'x'.repeat(1000)}${at}"}`)))]],
    ['many subresources', many(1500).map((at) => entry(theirs, { operation: 'Apply', subresource: `s${at}` }))],
  ])('%s', async (_what, managedFields) => {
    const act = await victim(cluster);
    await cluster.api.patch(nodePath(act), { metadata: { managedFields: [{}] } });
    await stolen('PATCH', nodePath(act), { metadata: { managedFields } });
    expect(await sizeOf(act)).toBeLessThan(SIZE_MAX);
  });
});
