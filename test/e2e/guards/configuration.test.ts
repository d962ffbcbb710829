import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../deploy/source/manifests/settings.ts';
import { createPod, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { eachOf } from '../../scale/each-of.ts';
import { NodeStates } from '../gitpod/node-states.ts';
import { applyCrd, POOL, poolLabelSet, poolsPath } from '../pools/pool-cluster.ts';
import { NODE_SERVICES, nodeService } from '../services/node-services.ts';

// The blast radius: whatever is configured no longer, a label leaves ten nodes at once, and the others after the delay.

const nodes = Array.from({ length: 14 }, (_, index) => `n${index}`);
const AT_ONCE = 10;
const KEPT = nodes.length - AT_ONCE;
/** Four seconds of the machine. */
const DELAY = '--mass-withdrawal-delay-seconds=16';
const OF_GITPOD = 'gitpod.io/ws-daemon_ready_ns_before';
const OF_FACT = 'fact.example.com/cpu';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

let cluster: EmbeddedCluster;
let states: NodeStates;
let rules: string;
let rig: Rig;

/** Creates a Node as a coordinator with other flags left it. */
async function makeNode(name: string): Promise<void> {
  const keys = { [`label:${OF_GITPOD}`]: 'gitpod', [`label:${OF_FACT}`]: 'fact' };
  const labels = { [OF_GITPOD]: 'true', [OF_FACT]: 'fast' };
  await cluster.api.post<NodeObject>('/api/v1/nodes', {
    ...{ apiVersion: 'v1', kind: 'Node' },
    metadata: { name, labels: { x: '1', [POOL]: Number(name.slice(1)) % 2 === 0 ? 'even' : 'odd' } },
  });
  const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels, annotations: {} } };
  applied.metadata.annotations = { 'rollcall.dev/keys': JSON.stringify(keys) };
  await cluster.api.patch(`/api/v1/nodes/${name}?fieldManager=rollcall`, applied, 'application/apply-patch+yaml');
  await createPod(cluster.api, {
    ...{ namespace: 'default', name: `cache-${name}`, nodeName: name, ready: true },
    labels: { app: 'cache' },
  });
}

beforeAll(async () => {
  cluster = await embeddedCluster({ labelPrefixes: [...DEFAULT_SETTINGS.labelPrefixes, 'example.org/'] });
  states = new NodeStates(cluster.api);
  await applyCrd(cluster);
  await eachOf(nodes, 8, makeNode);
  rules = await mkdtemp(path.join(tmpdir(), 'rollcall-label-dir-'));
  await mkdir(path.join(rules, 'example.org'));
  await writeRules('x', 'x', 'example.org/a');
  rig = await Rig.start({ cluster, nodes: 0, coordinatorArgs: [DELAY], clockSpeed: 4 });
});
afterAll(async () => {
  states?.stop();
  await rig?.stop();
  await cluster?.stop();
  if (rules) await rm(rules, { recursive: true });
});

async function writeRules(a: string, b: string, c: string): Promise<void> {
  const files = Object.entries({ a, b, c });
  await Promise.all(files.map(([name, line]) => writeFile(path.join(rules, 'example.org', name), `${line}\n`)));
}

async function restart(...args: string[]): Promise<void> {
  for (const each of [...rig.coordinators]) await rig.endCoordinator(each, 'SIGTERM');
  await rig.addCoordinator(args);
  await rig.leader();
}

const having = (key: string) => nodes.filter((name) => states.last(name)?.labels[key] !== undefined).length;

async function untilHaving(keys: readonly string[], count: number): Promise<void> {
  const counts = () => keys.map(having);
  await waitFor(`${count} nodes with each of ${keys}`, () => counts().every((each) => each === count), {
    timeoutMs: 30_000,
  });
}

/** The labels leave ten nodes, stay on the others while it is reported, and leave them as well. */
async function leaveInTwoSteps(keys: readonly string[], reported = keys): Promise<void> {
  const leader = await rig.leader();
  const held = () => leader.metric('rollcall_coordinator_guarded_nodes', { subject: 'configuration' });
  await waitFor('the others to be held', async () => (await held()) === reported.length * KEPT, { timeoutMs: 30_000 });
  await untilHaving(keys, KEPT);
  await untilHaving(keys, 0);
}

test('a start with another --namespace, and without --fact-labels', async () => {
  await leaveInTwoSteps([OF_GITPOD, OF_FACT]);
});

test('rule files that are emptied, and what rules build on their labels', async () => {
  const labels = ['example.org/a', 'example.org/b', 'example.org/c'];
  await restart(`--label-dir=${rules}`);
  await untilHaving(labels, nodes.length);
  await writeRules('', '', 'example.org/a');
  await leaveInTwoSteps(labels, labels.slice(0, 2));
});

test('a start without --label-dir', async () => {
  const labels = ['example.org/a', 'example.org/b', 'example.org/c'];
  await writeRules('x', 'x', 'example.org/a');
  await restart(`--label-dir=${rules}`);
  await untilHaving(labels, nodes.length);
  await restart();
  await leaveInTwoSteps(labels);
});

test('the CRD of NodeServices that is deleted', async () => {
  const names = ['one', 'two'];
  const labels = names.map((name) => `service.rollcall.dev/${name}`);
  const pods = { namespace: 'default', selector: { matchLabels: { app: 'cache' } } };
  for (const name of names)
    await cluster.api.post(NODE_SERVICES, nodeService(name, { checks: [{ name: 'pod', pods }] }));
  await untilHaving(labels, nodes.length);
  await cluster.api.delete(`${CRDS}/nodeservices.rollcall.dev`);
  await leaveInTwoSteps(labels);
});

test('sets that vanish, return, and vanish again', async () => {
  for (let times = 0; times < 2; times += 1) {
    for (const pool of ['even', 'odd'])
      await cluster.api.post(poolsPath('rollcall'), poolLabelSet(pool, { tier: pool }));
    await untilHaving(['tier'], nodes.length);
    await cluster.api.delete(poolsPath('rollcall'));
    await leaveInTwoSteps(['tier']);
  }
});
