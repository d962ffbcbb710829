import { fuzzRuns, fuzzTimeoutMs } from '@rollcall/common/testing/fuzz.ts';
import { seededRandom } from '@rollcall/coordinator/term/testing/lease-simulation.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiClient } from '../../control-plane/api-client.ts';
import { createServiceAccount, requestToken } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { MANAGED, type PoolCluster } from '../pools/pool-cluster.ts';
import { foreignOfObjects, forgedIn, makeOwnObjects, OWN_OBJECTS } from './fence-objects.ts';
import {
  type Attacker,
  type Entry,
  FOREIGN_ANNOTATIONS,
  FOREIGN_LABELS,
  fieldsOfOthers,
  foreignOn,
  KEYS,
  startFencedCluster,
  victim,
} from './fence-victim.ts';

const NODES = 8;
/** For each node: 1,000 for each account, and 5,000 with ROLLCALL_FUZZ_FACTOR=5. */
const REQUESTS = fuzzRuns(125);
/** After so many requests the others do what they do all the time. */
const EVERY = 5;
const PATCHES = ['merge-patch+json', 'strategic-merge-patch+json', 'json-patch+json', 'apply-patch+yaml'] as const;
const MANAGERS = ['rollcall', 'rollcall', 'rollcall', 'gitops', 'person', 'nfd-master', 'x'];
const OWN_LABELS = [
  'gitpod.io/ws-daemon_ready_ns_default',
  'service.rollcall.dev/own',
  'accelerators/edgetpu',
  'device.rollcall.dev/own',
  'fact.rollcall.dev/own',
  'tier',
];
const OWN_TAINT = { key: 'readiness.k8s.io/own', effect: 'NoSchedule' };
const LABELS = [...Object.keys(FOREIGN_LABELS), ...OWN_LABELS];
const ANNOTATIONS = [
  ...Object.keys(FOREIGN_ANNOTATIONS),
  'rollcall.dev/scheduling-hint',
  'rollcall.dev/services-started',
];
const SIZE_MAX = 200_000;
const OWNER = { apiVersion: 'v1', kind: 'Namespace', name: 'rollcall', uid: '00000000-0000-0000-0000-000000000000' };
const OBJECT_ANNOTATIONS = [
  'rollcall.dev/leader-url',
  'rollcall.dev/published-at',
  'kubernetes.io/service-account.name',
];
const FOREIGN_CONTENT = [
  { type: 'kubernetes.io/service-account-token' },
  { immutable: true },
  { data: { token: 'eA==' } },
  { spec: {} },
];
const VALUES = ['true', 'true', 'false', 'x', '', null];

/** The accounts behind the fence, and the account of agents, which has no rights. */
const ACCOUNTS = ['rollcall-coordinator', 'rollcall-uninstall'];
const AGENT = 'rollcall-agent';

let cluster: PoolCluster;
const clients = new Map<string, ApiClient>();

beforeAll(async () => {
  cluster = await startFencedCluster();
  const { api, controlPlane } = cluster;
  await createServiceAccount(api, 'rollcall', 'rollcall-uninstall');
  for (const serviceAccount of [...ACCOUNTS, AGENT]) {
    const token = await requestToken(api, { namespace: 'rollcall', serviceAccount, expirationSeconds: 7200 });
    clients.set(serviceAccount, await controlPlane.clientFor(token));
  }
  // The fence holds, whatever rights the accounts have been given.
  const metadata = { name: 'more' };
  const group = '/apis/rbac.authorization.k8s.io/v1';
  const resources = ['nodes', 'nodes/*', 'secrets', 'configmaps'];
  const rules = [
    { apiGroups: [''], resources, verbs: ['*'] },
    { apiGroups: ['coordination.k8s.io', 'rollcall.dev', 'labels.banzaicloud.io'], resources: ['*'], verbs: ['*'] },
  ];
  const subjects = ACCOUNTS.map((name) => ({ kind: 'ServiceAccount', name, namespace: 'rollcall' }));
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'more' };
  await api.post(`${group}/clusterroles`, { metadata, rules });
  await api.post(`${group}/clusterrolebindings`, { metadata, roleRef, subjects });
  await waitFor('the rights', async () => (await sent('DELETE', '/api/v1/nodes/absent')).status === 404);
  await makeOwnObjects(cluster);
});
afterAll(async () => {
  for (const client of clients.values()) client.close();
  await cluster?.stop();
});

function sent(method: string, path: string, body?: object, type = 'application/json', account = ACCOUNTS[0] ?? '') {
  const client = clients.get(account);
  if (!client) throw new Error(`There is no account ${account}`);
  return client.exchange(method, path, body && JSON.stringify(body), type);
}

test('no other verb, and no subresource but the status, is open to the coordinator', async () => {
  const act = await victim(cluster);
  const before = await foreignOn(cluster, act);
  const node = await act.read();
  const path = `/api/v1/nodes/${act.name}`;
  const changed = { ...node, metadata: { ...node.metadata, labels: {} }, spec: {} };
  const requests: [string, string, object?][] = [
    ['POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'made' } }],
    ['PUT', path, changed],
    ['PUT', `${path}/status`, { ...node, status: {} }],
    ['DELETE', path],
    ['DELETE', '/api/v1/nodes'],
    ...['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].map((verb): [string, string] => [verb, `${path}/proxy/pods`]),
    ['POST', `${path}/eviction`, {}],
    ['PUT', `${path}/finalizers`, changed],
    ['PATCH', `${path}/scale`, {}],
  ];
  for (const [method, where, body] of requests) {
    const { status } = await sent(method, where, body);
    expect([403, 404, 405, 415, 422], `${method} ${where}: ${status}`).toContain(status);
  }
  expect(await foreignOn(cluster, act)).toEqual(before);
});

test.each([...ACCOUNTS, AGENT])(
  'random requests of the account %s change nothing of others',
  async (account) => {
    const objects = await foreignOfObjects(cluster);
    const accepted = await Promise.all(
      Array.from({ length: NODES }, async (_, seed) => {
        const act = await victim(cluster);
        const before = await foreignOn(cluster, act);
        const owned = fieldsOfOthers(await act.read());
        const random = new RandomRequests(act, seededRandom(seed + 1));
        const took: string[] = [];
        for (let index = 0; index < REQUESTS; index++) {
          const request = await random.next();
          const { status } = await sent(request.method, request.path, request.body, request.type, account);
          if (status === 200) took.push(request.path);
          if (index % EVERY !== EVERY - 1) continue;
          expect(await foreignOn(cluster, act), `seed ${seed + 1}, request ${index}`).toEqual(before);
          const node = await act.read();
          expect(fieldsOfOthers(node), `seed ${seed + 1}, request ${index}`).toEqual(owned);
          expect(JSON.stringify(node).length).toBeLessThan(SIZE_MAX);
        }
        return took;
      }),
    );
    expect(await foreignOfObjects(cluster)).toEqual(objects);
    // What is its own, it may change.
    for (const took of accepted)
      if (account === AGENT) expect(took).toEqual([]);
      else expect(took.length).toBeGreaterThan(REQUESTS / 20);
    const ofObjects = accepted.flat().filter((path) => !path.startsWith('/api/v1/nodes/'));
    if (account !== AGENT) expect(ofObjects.length).toBeGreaterThan(REQUESTS / 20);
  },
  fuzzTimeoutMs(NODES * 125),
);

class RandomRequests {
  readonly #act: Attacker;
  readonly #random: () => number;

  constructor(act: Attacker, random: () => number) {
    this.#act = act;
    this.#random = random;
  }

  async next(): Promise<{ method: string; path: string; type: string; body: object }> {
    if (this.#is(0.25)) return await this.#ofObject();
    const type = this.#pick(PATCHES);
    const query = `fieldManager=${this.#pick(MANAGERS)}${type === 'apply-patch+yaml' && this.#is(0.7) ? '&force=true' : ''}`;
    const path = `/api/v1/nodes/${this.#act.name}${this.#is(0.15) ? '/status' : ''}?${query}`;
    const object = await this.#object(type === 'apply-patch+yaml');
    const body = type === 'json-patch+json' ? await this.#operations(object) : object;
    return { method: 'PATCH', path, type: `application/${type}`, body };
  }

  /** Changes an object that is no Node: its content, and perhaps what is not the account's to change. */
  async #ofObject(): Promise<{ method: string; path: string; type: string; body: object }> {
    const { path, content } = this.#pick(OWN_OBJECTS);
    const object = await this.#act.readObject(path);
    const managers = `fieldManager=${this.#pick(MANAGERS)}`;
    const metadata: Record<string, unknown> = {};
    if (this.#is(0.2)) metadata['ownerReferences'] = [OWNER];
    if (this.#is(0.1)) metadata['finalizers'] = ['example.com/x'];
    if (this.#is(0.2)) metadata['labels'] = { x: this.#pick(VALUES) };
    if (this.#is(0.2)) metadata['annotations'] = { [this.#pick(OBJECT_ANNOTATIONS)]: this.#pick(VALUES) };
    if (this.#is(0.3)) metadata['managedFields'] = forgedIn(object, this.#random);
    const body = { metadata, ...this.#pick(content), ...(this.#is(0.2) ? this.#pick(FOREIGN_CONTENT) : {}) };
    if (this.#is(0.05)) return { method: 'DELETE', path, type: 'application/json', body: {} };
    const where = `${path}${path.includes('/leases/') || path.startsWith('/api/') ? '' : this.#pick(['', '/status', '/status', '/status'])}?${managers}`;
    if (this.#is(0.3)) {
      const own = { ...object, ...this.#pick(content) } as Record<string, unknown>;
      own['metadata'] = { ...(object.metadata as object), ...metadata };
      return { method: 'PUT', path: where, type: 'application/json', body: own };
    }
    return { method: 'PATCH', path: where, type: 'application/merge-patch+json', body };
  }

  #pick<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)] as T;
  }

  #is(probability: number): boolean {
    return this.#random() < probability;
  }

  #some<T>(all: readonly T[], most: number): T[] {
    return Array.from({ length: Math.floor(this.#random() * (most + 1)) }, () => this.#pick(all));
  }

  async #object(isApply: boolean): Promise<Record<string, unknown>> {
    const values = isApply ? VALUES.filter((value) => value !== null) : VALUES;
    const pairs = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, this.#pick(values)]));
    const labels = pairs(this.#some(LABELS, this.#is(0.5) ? 1 : 3));
    const annotations: Record<string, string | null> = pairs(this.#is(0.3) ? this.#some(ANNOTATIONS, 2) : []);
    if (this.#is(0.7)) annotations[KEYS] = this.#list(labels);
    if (this.#is(0.2)) annotations[MANAGED] = JSON.stringify(Object.keys(labels));
    const metadata: Record<string, unknown> = { labels, annotations };
    if (!isApply && this.#is(0.3)) metadata['managedFields'] = await this.#forged();
    if (this.#is(0.02)) metadata['finalizers'] = ['example.com/x'];
    const body: Record<string, unknown> = { metadata };
    if (isApply)
      Object.assign(body, { apiVersion: 'v1', kind: 'Node', metadata: { ...metadata, name: this.#act.name } });
    if (this.#is(0.15)) body['spec'] = this.#pick([{ taints: [] }, { taints: [OWN_TAINT] }, { unschedulable: true }]);
    if (this.#is(0.15)) {
      const type = this.#pick(['Ready', 'KernelDeadlock', 'service.rollcall.dev/Own']);
      body['status'] = this.#pick([{ conditions: [{ type, status: 'Unknown' }] }, { capacity: { cpu: '1' } }]);
    }
    return body;
  }

  /** Lists what the request sets, and perhaps more. */
  #list(labels: object): string {
    const ids = [...Object.keys(labels), ...this.#some(LABELS, 1)].map((key) => `label:${key}`);
    const more = this.#some([`taint:${OWN_TAINT.key}`, 'taint:dedicated', 'condition:Ready'], 1);
    return JSON.stringify(Object.fromEntries([...ids, ...more].map((id) => [id, this.#pick(['rule', 'device'])])));
  }

  async #forged(): Promise<Entry[]> {
    const entries = structuredClone((await this.#act.read()).metadata['managedFields']) as Entry[];
    const labelsOf = (entry: Entry) => {
      const metadata = (entry.fieldsV1['f:metadata'] ?? {}) as Record<string, Record<string, object>>;
      const labels = metadata['f:labels'] ?? {};
      entry.fieldsV1['f:metadata'] = { ...metadata, 'f:labels': labels };
      return labels;
    };
    const from = this.#pick(entries);
    const to = this.#pick(entries);
    const field = `f:${this.#pick(LABELS)}`;
    if (this.#is(0.5)) delete labelsOf(from)[field];
    if (this.#is(0.5)) labelsOf(to)[field] = {};
    const added = { operation: this.#pick(['Apply', 'Update']), apiVersion: 'v1', fieldsType: 'FieldsV1' };
    const fieldsV1 = { 'f:metadata': { 'f:labels': { [field]: {} } } };
    const manager = this.#pick(['rollcall', 'rollcall', 'gitops', 'ancient-changes', 'before-first-apply']);
    const subresource = this.#pick([
      {},
      { subresource: 'status' },
      { subresource: `s${Math.floor(this.#random() * 99)}` },
    ]);
    const long = { 'f:metadata': { 'f:labels': { [`f:device.rollcall.dev/${'x'.repeat(4000)}`]: {} } } };
    if (this.#is(0.4)) entries.push({ ...added, manager, fieldsV1: this.#is(0.3) ? long : fieldsV1, ...subresource });
    if (this.#is(0.2)) entries.splice(Math.floor(this.#random() * entries.length), 1);
    return entries;
  }

  /** The same as a JSON patch, or a removal of what is there. */
  async #operations(object: Record<string, unknown>): Promise<object[]> {
    const { metadata, spec } = await this.#act.read();
    const { labels = {}, annotations = {} } = object['metadata'] as Record<string, Record<string, unknown>>;
    const operations = Object.entries({ labels, annotations }).flatMap(([kind, values]) =>
      Object.entries(values).map(([key, value]) => {
        const path = `/metadata/${kind}/${key.replace('/', '~1')}`;
        return value === null ? { op: 'remove', path } : { op: 'add', path, value };
      }),
    );
    const entries = metadata['managedFields'] as Entry[];
    const index = Math.floor(this.#random() * entries.length);
    if (this.#is(0.1)) operations.push({ op: 'remove', path: `/metadata/managedFields/${index}` });
    if (this.#is(0.1) && spec.taints) operations.push({ op: 'remove', path: '/spec/taints/0' });
    if (this.#is(0.1)) operations.push({ op: 'add', path: '/spec/taints/-', value: OWN_TAINT });
    if (this.#is(0.05)) operations.push({ op: 'remove', path: `/metadata/${this.#pick(['labels', 'annotations'])}` });
    return operations;
  }
}
