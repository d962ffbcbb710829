import { seededRandom } from '@rollcall/coordinator/kube/testing/lease-simulation.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { MANAGED, type PoolCluster } from '../pools/pool-cluster.ts';
import {
  type Attacker,
  type Entry,
  FOREIGN_ANNOTATIONS,
  FOREIGN_LABELS,
  foreignOn,
  KEYS,
  startFencedCluster,
  victim,
} from './fence-victim.ts';

const NODES = 8;
const REQUESTS = 250;
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
const VALUES = ['true', 'true', 'false', 'x', '', null];

let cluster: PoolCluster;

beforeAll(async () => {
  cluster = await startFencedCluster();
  // The fence holds, whatever rights the account has been given.
  const metadata = { name: 'more' };
  const group = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: [''], resources: ['nodes', 'nodes/*'], verbs: ['*'] }];
  const subjects = [{ kind: 'ServiceAccount', name: 'rollcall-coordinator', namespace: 'rollcall' }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'more' };
  await cluster.api.post(`${group}/clusterroles`, { metadata, rules });
  await cluster.api.post(`${group}/clusterrolebindings`, { metadata, roleRef, subjects });
  await waitFor('the rights', async () => (await sent('DELETE', '/api/v1/nodes/absent')).status === 404);
});
afterAll(() => cluster?.stop());

function sent(method: string, path: string, body?: object, type = 'application/json') {
  return cluster.coordinator.exchange(method, path, body && JSON.stringify(body), type);
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

test('2,000 random requests of the coordinator change nothing of others', async () => {
  const accepted = await Promise.all(
    Array.from({ length: NODES }, async (_, seed) => {
      const act = await victim(cluster);
      const before = await foreignOn(cluster, act);
      const random = new RandomRequests(act, seededRandom(seed + 1));
      let count = 0;
      for (let index = 0; index < REQUESTS; index++) {
        const request = await random.next();
        const { status } = await sent('PATCH', request.path, request.body, request.type);
        if (status === 200) count += 1;
        if (index % EVERY === EVERY - 1)
          expect(await foreignOn(cluster, act), `seed ${seed + 1}, request ${index}`).toEqual(before);
      }
      return count;
    }),
  );
  // What is its own, it may change.
  for (const count of accepted) expect(count).toBeGreaterThan(REQUESTS / 20);
}, 300_000);

class RandomRequests {
  readonly #act: Attacker;
  readonly #random: () => number;

  constructor(act: Attacker, random: () => number) {
    this.#act = act;
    this.#random = random;
  }

  async next(): Promise<{ path: string; type: string; body: object }> {
    const type = this.#pick(PATCHES);
    const query = `fieldManager=${this.#pick(MANAGERS)}${type === 'apply-patch+yaml' && this.#is(0.7) ? '&force=true' : ''}`;
    const path = `/api/v1/nodes/${this.#act.name}${this.#is(0.15) ? '/status' : ''}?${query}`;
    const object = await this.#object(type === 'apply-patch+yaml');
    const body = type === 'json-patch+json' ? await this.#operations(object) : object;
    return { path, type: `application/${type}`, body };
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
    const manager = this.#pick(['rollcall', 'gitops', 'ancient-changes', 'before-first-apply']);
    if (this.#is(0.4)) entries.push({ ...added, manager, fieldsV1 });
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
