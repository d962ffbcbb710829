import { afterEach, beforeEach, expect, test } from 'vitest';
import { createNode, createPod, type NodeObject, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

const KEY = 'readiness.k8s.io/driver';
const LABEL = 'service.rollcall.dev/driver';
const TAINT = { key: KEY, value: '', effect: 'NoSchedule' };
const APP = { app: 'driver' };
const TOLERANT = [{ operator: 'Exists' }];
const PATIENT = { timeoutMs: 60_000 };

let embedded: EmbeddedRig;

beforeEach(async () => {
  embedded = await startEmbeddedRig({ prepare: applyNodeServiceCrd, nodes: 0 });
});

afterEach(() => embedded?.stop());

async function addNodes(count: number, prefix = 'n', labels: Record<string, string> = {}): Promise<string[]> {
  const names = Array.from({ length: count }, (_, at) => `${prefix}${String(at).padStart(2, '0')}`);
  for (const name of names) await createNode(embedded.controlPlane.api, name, { labels });
  return names;
}

function addPod(nodeName: string, tolerations: readonly object[] = TOLERANT, ready = true) {
  const pod = { namespace: 'default', name: `driver-${nodeName}`, nodeName, labels: APP, spec: { tolerations } };
  return createPod(embedded.controlPlane.api, { ...pod, ready });
}

function pods(app = APP) {
  return [{ name: 'pod', pods: { namespace: 'default', selector: { matchLabels: app } } }];
}

/** Creates the service. Creation times have seconds: nodes that come later are younger. */
async function publish(spec: object = {}): Promise<void> {
  const driver = nodeService('driver', { checks: pods(), publish: { label: LABEL, taint: TAINT }, ...spec });
  await embedded.controlPlane.api.post(NODE_SERVICES, driver);
  await new Promise((resolve) => setTimeout(resolve, 1100));
}

async function nodesThat(isMeant: (node: NodeObject) => boolean): Promise<string[]> {
  const nodes = await embedded.controlPlane.api.list<NodeObject>('/api/v1/nodes');
  return nodes.filter(isMeant).map(({ metadata }) => metadata.name);
}

const tainted = (key = KEY) => nodesThat(({ spec }) => spec.taints?.some((each) => each.key === key) === true);
const labeled = () => nodesThat(({ metadata }) => metadata.labels?.[LABEL] === 'true');

/** Returns the names once there are so many, and after a while still. */
async function stays(what: string, names: () => Promise<string[]>, count: number): Promise<string[]> {
  await waitFor(`${count} nodes ${what}`, async () => (await names()).length === count, PATIENT);
  await new Promise((resolve) => setTimeout(resolve, 2500));
  const found = await names();
  expect(found).toHaveLength(count);
  return found;
}

function isNaming(text: string, names: readonly string[]): boolean {
  return names.every((name) => text.includes(name));
}

async function failover(): Promise<void> {
  const { rig } = embedded;
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await rig.addCoordinator();
  await rig.leader();
}

async function eventsOf(reason: string): Promise<string[]> {
  const events = await embedded.controlPlane.api.list<{
    metadata: { name: string };
    reason?: string;
    message?: string;
    involvedObject?: { kind: string; name: string };
  }>('/api/v1/events');
  return events
    .filter((each) => each.reason === reason)
    .map(({ message, involvedObject }) => `${involvedObject?.kind}/${involvedObject?.name} ${message}`);
}

test('of half a fleet that fails, a fifth is closed, under every leader; all lose the label, and the others are named', async () => {
  const { api } = embedded.controlPlane;
  const names = await addNodes(100);
  for (const name of names) await addPod(name);
  await publish();
  await stays('with the label', labeled, 100);

  const failing = names.filter((_, at) => at % 2 === 0);
  for (const name of failing) await setPodReady(api, 'default', `driver-${name}`, false);
  const closed = await stays('with the taint', tainted, 20);
  expect(await labeled()).toHaveLength(50);
  const waiting = failing.filter((name) => !closed.includes(name));
  const message = () => conditionOf(api, 'driver', 'NodesReady');
  await waitFor('the names', async () => isNaming(await message(), waiting), PATIENT);
  expect(await message()).toMatch(
    /Ready on 50 of 100 nodes; .*: 50 nodes, .*; 30 nodes wait for the taint, since 20 of 100/,
  );
  const [first = ''] = waiting;
  const key = (await (await embedded.rig.leader()).explain(first)).keys.find((each) => each.key === KEY);
  expect(key?.reason).toContain('the taint waits: 20 of 100 nodes are closed for the service');
  expect((await eventsOf('GuardActive')).join()).toMatch(
    /^NodeService\/driver A guard is active \(taint-budget\): .* nodes? waits? .*: n/,
  );

  await failover();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  expect(await stays('with the taint', tainted, 20)).toEqual(closed);

  // A place that is free goes to another node.
  await setPodReady(api, 'default', `driver-${closed[0]}`, true);
  await waitFor('another node', async () => !(await tainted()).includes(closed[0] ?? ''), PATIENT);
  const next = await stays('with the taint', tainted, 20);
  expect(next.filter((name) => !closed.includes(name))).toHaveLength(1);
});

test('a mistyped selector closes one of five nodes, and says that no pod matches; younger nodes are closed from birth', async () => {
  const { api } = embedded.controlPlane;
  await addNodes(5);
  await publish({ checks: pods({ app: 'dirver' }) });
  await stays('with the taint', tainted, 1);
  const events = await waitFor('the Event', async () => (await eventsOf('GuardActive'))[0], PATIENT);
  expect(events).toContain('no pod on any node matches the selector of the check pod');
  await waitFor('the status', async () => /4 nodes wait/.test(await conditionOf(api, 'driver', 'NodesReady')), PATIENT);

  await addNodes(3, 'young');
  const young = (await stays('with the taint', tainted, 4)).filter((name) => name.startsWith('young'));
  expect(young).toHaveLength(3);

  // Repaired, it opens them; broken once more, they share the budget of all.
  for (const name of await nodesThat(() => true)) await addPod(name);
  await api.patch(`${NODE_SERVICES}/driver`, { spec: { checks: pods() } }, 'application/merge-patch+json');
  await stays('with the taint', tainted, 0);
  await stays('with the label', labeled, 8);
  const broken = { spec: { checks: pods({ app: 'dirver' }) } };
  await api.patch(`${NODE_SERVICES}/driver`, broken, 'application/merge-patch+json');
  await stays('with the taint', tainted, 1);
  await failover();
  await stays('with the taint', tainted, 1);

  const off = { spec: { publish: { label: LABEL, taint: { ...TAINT, maxUnavailable: '100%' } } } };
  await api.patch(`${NODE_SERVICES}/driver`, off, 'application/merge-patch+json');
  await stays('with the taint', tainted, 8);
  await api.patch(`${NODE_SERVICES}/driver`, { spec: { checks: pods() } }, 'application/merge-patch+json');
  await stays('with the taint', tainted, 0);
});

test('a pod without the toleration counts on its own node alone: that has no taint, and the service stays in force', async () => {
  const { api } = embedded.controlPlane;
  const names = await addNodes(14, 'n', { tier: 'gold' });
  const [elsewhere = ''] = await addNodes(1, 'other');
  for (const name of names) await addPod(name);
  const nodeSelector = { matchLabels: { tier: 'gold' } };
  await publish({ nodeSelector, publish: { label: LABEL, taint: { ...TAINT, maxUnavailable: '100%' } } });
  await stays('with the label', labeled, 14);
  await addPod(elsewhere, []);
  await new Promise((resolve) => setTimeout(resolve, 7000));
  expect(await labeled()).toHaveLength(14);
  expect(await conditionOf(api, 'driver', 'Ready')).toMatch(/^True InForce/);

  const [intolerant = '', broken = ''] = names;
  await api.delete(`/api/v1/namespaces/default/pods/driver-${intolerant}`);
  await waitFor('the taint', async () => (await tainted()).includes(intolerant), PATIENT);
  await addPod(intolerant, [], false);
  await stays('with the taint', tainted, 0);
  await setPodReady(api, 'default', `driver-${broken}`, false);
  expect(await stays('with the taint', tainted, 1)).toEqual([broken]);
  expect(await labeled()).toHaveLength(12);
  const message = await waitFor('the status', async () => {
    const text = await conditionOf(api, 'driver', 'NodesReady');
    return text.includes('do not tolerate') ? text : undefined;
  });
  expect(message).toContain(`so these nodes do not get it: ${intolerant}`);
  expect(await conditionOf(api, 'driver', 'Ready')).toMatch(/^True InForce/);
});
