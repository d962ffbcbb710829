import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { expect, test } from 'vitest';
import type { KubeObject, Pod } from '../kube/objects.ts';
import { configured } from '../model/load.test-fixtures.ts';
import { MemoryApi, podObject, podsPath } from '../watch/memory-api.test-fixtures.ts';
import { createReplica } from './replica.ts';
import { createReplicaContext } from './replica-context.ts';

const CI = podsPath('ci');
const NODES = '/api/v1/nodes';
const GROUP = '/apis/rollcall.dev/v1alpha1';
const NODE_COUNT = 100;
const POD_COUNT = 10_000;
const EDITS = 1000;
/** A tenth of what a single watch of the pods holds. */
const GROWTH_MAX_BYTES = 1_000_000;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

function heapUsed(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

function pod(index: number): Pod {
  const context = podObject(`pod-${index}`, { app: `app-${index % 10}` }, `node-${index % NODE_COUNT}`);
  const metadata = { ...context.metadata, creationTimestamp: '2026-01-01T00:00:00Z' };
  const spec = { ...context.spec, tolerations: [{ operator: 'Exists' as const }] };
  return { metadata, spec, status: { conditions: [{ type: 'Ready', status: 'True' }] } };
}

function node(index: number): KubeObject {
  const metadata = { name: `node-${index}`, uid: `uid-${index}`, creationTimestamp: '2026-01-01T00:00:00Z' };
  return { metadata: { ...metadata, resourceVersion: '5' }, spec: {} } as KubeObject;
}

const metadataOf = (name: string, generation: number) => ({
  ...{ name, uid: `uid-${name}`, resourceVersion: `${generation}`, generation },
  creationTimestamp: '2026-01-01T00:00:00Z',
});

/** Each generation selects other pods, and has another taint. */
function nodeService(generation: number): KubeObject {
  const selector = { matchExpressions: [{ key: 'app', operator: 'In', values: ['app-1', `other-${generation}`] }] };
  const taint = { key: 'example.com/no-a', value: `${generation}`, effect: 'NoSchedule' };
  const spec = {
    checks: [{ name: 'pod', pods: { namespace: 'ci', selector } }],
    publish: { label: 'example.com/a', taint },
  };
  return { metadata: metadataOf('a', generation), spec } as KubeObject;
}

function nodeHold(generation: number): KubeObject {
  const selector = { matchExpressions: [{ key: 'app', operator: 'In', values: ['app-2', `other-${generation}`] }] };
  return { metadata: metadataOf('jobs', generation), spec: { pods: { namespace: 'ci', selector } } } as KubeObject;
}

/** A leader that writes nothing, with all pods and nodes, a NodeService and a NodeHold. */
async function leader() {
  const api = new MemoryApi();
  api.collections
    .set(
      NODES,
      Array.from({ length: NODE_COUNT }, (_, index) => node(index)),
    )
    .set(
      CI,
      Array.from({ length: POD_COUNT }, (_, index) => pod(index)),
    )
    .set(`${GROUP}/nodeservices`, [nodeService(1)])
    .set(`${GROUP}/nodeholds`, [nodeHold(1)]);
  const config = await configured('--gitpod=false', '--dry-run');
  const environment = { ownNamespace: 'rollcall', podName: undefined, podIp: undefined };
  const access = { server: 'https://127.0.0.1:1', viaProxy: false, options: async () => ({ headers: {} }), renew() {} };
  const life = new Lifecycle(silentLogger());
  const { clock, random, client } = api.shared;
  const dependencies = { clock, random, uniqueName: () => 'name', connect: () => client };
  const context = createReplicaContext({ config, environment, access }, silentLogger(), life, dependencies);
  const replica = await createReplica(context);
  void replica.watches.run();
  await clock.advance(1000);
  context.leadershipState.begin().decide();
  replica.controller.beginTerm();
  await clock.advance(1000);
  return { api, replica, life };
}

test('a thousand edits of NodeServices and NodeHolds with ten thousand pods leave the heap as large as it was', async () => {
  const { api, replica, life } = await leader();
  let generation = 1;
  const edit = async () => {
    generation += 1;
    const isService = generation % 2 === 0;
    const [kind, object] = isService ? ['nodeservices', nodeService(generation)] : ['nodeholds', nodeHold(generation)];
    api.tell(`${GROUP}/${kind}`, 'MODIFIED', object as KubeObject);
    await api.clock.advance(100);
    replica.tick();
    api.lists.length = 0;
  };
  const heldNodes = () => {
    const [hold] = replica.holds.objects();
    return hold ? replica.holds.nodesHeldBy(hold).size : 0;
  };
  for (let count = 0; count < 50; count += 1) await edit();
  const before = heapUsed();
  for (let count = 1; count <= EDITS; count += 1) {
    await edit();
    // A leak of all pods at each edit would not fit into memory.
    if (count % 50 === 0) expect(heapUsed() - before).toBeLessThan(GROWTH_MAX_BYTES);
  }
  // All of them were taken in.
  expect(replica.services().map(({ publish }) => publish.taint?.value)).toEqual([`${generation - (generation % 2)}`]);
  expect(heldNodes()).toBe(NODE_COUNT / 10);
  expect([...replica.fleet.servicePods.all('ci')]).toHaveLength(POD_COUNT / 10);
  await life.stop();
});
