import { systemClock } from '@rollcall/common/clock.ts';
import { KubeStatusError } from '@rollcall/coordinator/kube/client.ts';
import { createKubeClient } from '@rollcall/coordinator/kube/https-client.ts';
import { fileAccess } from '@rollcall/coordinator/kube/kube-config.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ModelNodes, type NodePatch } from '../../model/api-server/nodes.ts';
import { fieldsOf, fromManagedFields, type Owners } from '../../model/api-server/ownership.ts';
import { generator } from '../../model/random.ts';
import { type Cluster, newNode, startCluster } from './writer-rig.ts';

const SEQUENCES = 40;
const REQUESTS = 12;
const SEED = Math.floor(Math.random() * 2 ** 31);
let serial = 0;

const CONTENT_TYPES = {
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;
const MANAGERS = ['rollcall', 'nfd', 'kubectl-label'];
const KEYS = ['m.io/a', 'm.io/b', 'm.io/c'];
const ANNOTATIONS = ['m.io/x', 'm.io/y'];
const OTHER_UID = '00000000-0000-4000-8000-000000000000';

let cluster: Cluster;
let admin: ReturnType<typeof createKubeClient>;
beforeAll(async () => {
  cluster = await startCluster();
  const access = fileAccess({ kubeconfig: cluster.controlPlane.kubeconfig, master: '' });
  admin = createKubeClient(access, { userAgent: 'rollcall', maxSockets: 4, clock: systemClock });
});
afterAll(async () => {
  admin?.close();
  await cluster?.controlPlane.stop();
});

/** The compared result: the status, and the fields of each manager. */
type Answer = { status: number; causes: string[] };

async function answerOf(act: () => unknown): Promise<Answer> {
  try {
    await act();
    return { status: 200, causes: [] };
  } catch (error) {
    if (!(error instanceof KubeStatusError)) throw error;
    const causes = (error.details.details?.causes ?? []).map(({ reason, field, message = '' }) =>
      reason === 'FieldManagerConflict' ? `${field} of ${/"(.+?)"/.exec(message)?.[1]}` : `${reason} ${field}`,
    );
    // The API server names a malformed field twice.
    return { status: error.status, causes: [...new Set(causes)].sort() };
  }
}

/** Everything that is modelled of a Node. Who owns nothing is not there. */
function shown(node: Node | undefined, owners: Owners): object {
  const sorted = [...owners].map(([id, fields]) => [id, [...fields].sort()] as const);
  return {
    fields: node && Object.fromEntries([...fieldsOf(node)].sort()),
    owners: Object.fromEntries(sorted.sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

type Draw = { random: () => number; pick: <T>(list: readonly T[]) => T };

/** A request that some client might send: right, outdated, for another Node, or malformed. */
function requestOf(name: string, node: Node | undefined, { random, pick }: Draw): NodePatch {
  const manager = pick(MANAGERS);
  // As a person does whose Node is too large.
  if (random() < 0.08) return { kind: 'merge', name, manager, body: { metadata: { managedFields: [{}] } } };
  const kind = pick(['apply', 'apply', 'merge', 'json'] as const);
  const preconditions = {
    ...(random() < 0.5 ? { uid: random() < 0.85 ? (node?.metadata.uid ?? OTHER_UID) : OTHER_UID } : {}),
    ...(random() < 0.25 ? { resourceVersion: random() < 0.7 ? (node?.metadata.resourceVersion ?? '1') : '1' } : {}),
  };
  if (kind === 'json') return { kind, name, manager, body: taintOperations(node, { random, pick }) };
  const value = (null_: boolean) =>
    null_ && random() < 0.5 ? null : pick(['1', '2', random() < 0.1 ? 'bad value!' : '1']);
  const some = (keys: readonly string[]) =>
    Object.fromEntries(keys.filter(() => random() < 0.5).map((key) => [key, value(kind === 'merge')]));
  const [labels, annotations] = [some(KEYS), some(ANNOTATIONS)];
  const metadata = {
    ...preconditions,
    // No client sends empty maps: they would own the map itself, which is not modelled.
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
  };
  if (kind === 'merge') return { kind, name, manager, body: { metadata } };
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name, ...metadata } };
  return { kind, name, manager, body, force: random() < 0.3 };
}

function taintOperations(node: Node | undefined, { random, pick }: Draw): object[] {
  const uid = {
    op: 'test',
    path: '/metadata/uid',
    value: random() < 0.9 ? (node?.metadata.uid ?? OTHER_UID) : OTHER_UID,
  };
  const taint = { key: pick(['m.io/t', 'm.io/u']), value: pick(['1', '2']), effect: 'NoSchedule' };
  const first = node?.spec?.taints?.[0]?.key ?? 'none';
  return pick([
    [uid, { op: 'add', path: '/spec/taints/-', value: taint }],
    [uid, { op: 'test', path: '/spec/taints', value: null }, { op: 'add', path: '/spec/taints', value: [taint] }],
    [
      uid,
      { op: 'test', path: '/spec/taints/0/key', value: random() < 0.8 ? first : 'other' },
      { op: 'remove', path: '/spec/taints/0' },
    ],
  ]);
}

async function send({ kind, name, manager, body, force }: NodePatch): Promise<void> {
  await admin.request({
    method: 'PATCH',
    path: `/api/v1/nodes/${name}`,
    query: { fieldManager: manager, ...(kind === 'apply' && force ? { force: 'true' } : {}) },
    contentType: CONTENT_TYPES[kind],
    body,
    timeoutMs: 10_000,
  });
}

const read = (name: string) => admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${name}`, timeoutMs: 10_000 });

/** Replays one sequence on both; what differs first, with the request that it took. */
async function replay(index: number): Promise<void> {
  serial += 1;
  const name = `conform-${serial}`;
  const random = generator(SEED + index);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  await newNode(cluster, name, { annotations: { 'm.io/always': 'there' } });
  let real = await read(name);
  const model = new ModelNodes(() => {});
  const { labels = {}, annotations = {}, uid, resourceVersion, managedFields = [] } = real.metadata;
  const owners = fromManagedFields(managedFields);
  model.create({
    name,
    labels,
    annotations,
    taints: real.spec?.taints ?? [],
    conditions: real.status?.conditions ?? [],
    uid,
    resourceVersion: Number(resourceVersion),
    owners,
  });
  for (let count = 0; count < REQUESTS; count += 1) {
    const request = requestOf(name, real, { random, pick });
    const versionOf = (node: Node | undefined) => node?.metadata.resourceVersion;
    const [realBefore, modelBefore] = [versionOf(real), versionOf(model.get(name))];
    const expected = await answerOf(() => send(request));
    const modelled = withVersion(request, realBefore, modelBefore);
    const got = await answerOf(() => model.patch(modelled));
    real = await read(name);
    const where = `seed ${SEED + index}, request ${count}: ${JSON.stringify(request)}`;
    expect(got, where).toEqual(expected);
    expect(shown(model.get(name), model.ownersOf(name)), where).toEqual(
      shown(real, fromManagedFields(real.metadata.managedFields ?? [])),
    );
    expect(versionOf(model.get(name)) !== modelBefore, `${where}: a write`).toBe(versionOf(real) !== realBefore);
  }
}

/** The model counts its own versions: the present one stays the present one. */
function withVersion(request: NodePatch, real: string | undefined, model: string | undefined): NodePatch {
  return JSON.parse(
    JSON.stringify(request).replaceAll(`"resourceVersion":"${real}"`, `"resourceVersion":"${model}"`),
  ) as NodePatch;
}

test('the model answers random requests as the API server does', { timeout: 120_000 }, async () => {
  for (let index = 0; index < SEQUENCES; index += 1) await replay(index);
});

test('and so it does where the Node is not there', async () => {
  const random = generator(SEED);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const model = new ModelNodes(() => {});
  const absent = ['apply', 'merge', 'json'].map((kind) => ({
    ...requestOf('absent', undefined, { random, pick }),
    kind,
    body: kind === 'json' ? taintOperations(undefined, { random, pick }) : { metadata: { uid: OTHER_UID } },
  })) as NodePatch[];
  for (const request of absent) {
    if (request.kind === 'apply')
      request.body = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'absent', uid: OTHER_UID } };
    expect(await answerOf(() => model.patch(request))).toEqual(await answerOf(() => send(request)));
  }
});
