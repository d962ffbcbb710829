import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service } from '../model/services.ts';
import { nodeHold } from '../state/holds/holds.test-fixtures.ts';
import { onDemandOn } from '../state/on-demand-objects.ts';
import { podObject, podsPath } from './memory-api.test-fixtures.ts';
import {
  AGENT_PODS,
  allWatches,
  CONFIG,
  NODE_FEATURES,
  NODE_HOLDS,
  NODE_SERVICES,
  NODES,
  POOL_LABELS,
  POOL_SETS,
  runningWatches,
  SLICES,
  WORKSPACE_PODS,
  WORKSPACES,
} from './watches.test-fixtures.ts';

const METADATA = { name: 'n1', uid: 'u', resourceVersion: '5' };
const ALWAYS = [NODES, AGENT_PODS, POOL_LABELS, POOL_SETS, NODE_SERVICES, NODE_HOLDS];

/** A service with a check of DRA devices, within anyOf. */
const WITH_DRA = serviceOf('gpu', {
  checks: [
    {
      name: 'any',
      kind: 'anyOf',
      checks: [{ name: 'dra', id: 's/dra', kind: 'dra', settings: { driver: 'gpu.x', min: 1 } }],
    },
  ],
});

test('one watch of each resource is open while it runs, and none after', async () => {
  const { api, running } = await runningWatches();
  expect(api.watched()).toEqual([...ALWAYS, WORKSPACES, WORKSPACE_PODS].sort());
  expect(api.lists).toHaveLength(8);
  api.stop.abort();
  await running;
  expect(api.watched()).toEqual([]);
});

test('it runs until the program stops', async () => {
  const { running, settle } = await runningWatches();
  let isOver = false;
  void running.then(() => {
    isOver = true;
  });
  await settle();
  expect(isOver).toBe(false);
});

test('only the pods of agents and workspaces are listed', async () => {
  const { api } = await runningWatches();
  expect(api.selectorsOf(AGENT_PODS)).toEqual({ fieldSelector: 'spec.serviceAccountName=rollcall-agent' });
  expect(api.selectorsOf(WORKSPACE_PODS)).toEqual({ labelSelector: 'component=workspace' });
});

test('what is listed reaches those who go by it', async () => {
  const { api, told, fleet, holds, watches, settle } = allWatches();
  api.collections.set(NODES, [{ metadata: { ...METADATA, labels: { pool: 'a' } } }]);
  api.collections.set(AGENT_PODS, [podObject('agent', {}, 'n1', 'rollcall')]);
  api.collections.set(POOL_LABELS, [{ metadata: { ...METADATA, name: 'labels', namespace: 'pools' } }]);
  api.collections.set(POOL_SETS, [{ metadata: { ...METADATA, name: 'set', namespace: 'pools' } }]);
  api.collections.set(WORKSPACES, [{ metadata: METADATA, status: { runtime: { nodeName: 'n1' } } } as never]);
  api.collections.set(WORKSPACE_PODS, [podObject('ws', {}, 'n1', 'workspaces')]);
  api.collections.set(NODE_SERVICES, [{ metadata: { ...METADATA, name: 'database' } }]);
  api.collections.set(NODE_HOLDS, [{ metadata: { ...METADATA, name: 'jobs' } }]);
  void watches.run();
  await settle();
  expect(fleet.node('n1')?.labels).toEqual({ pool: 'a' });
  expect(fleet.agentPodNode({ namespace: 'rollcall', name: 'agent', uid: 'uid-rollcall-agent' })).toBe('n1');
  expect([...fleet.poolLabelSets.all('NodePoolLabels')].map(({ name }) => name)).toEqual(['labels']);
  expect([...fleet.poolLabelSets.all('NodePoolLabelSet')].map(({ name }) => name)).toEqual(['set']);
  fleet.beginTerm();
  expect(fleet.snapshot('n1')).toMatchObject({ workspaces: [{ node: 'n1' }], poolLabelSetsKnown: true });
  expect(told.sort()).toEqual(['services: database', 'workspace pods: ws']);
  expect(holds.objects().map(({ name }) => name)).toEqual(['jobs']);
});

test('without Gitpod no workspaces are watched, and it is known that there are none', async () => {
  const { api, fleet } = await runningWatches({ config: { ...CONFIG, gitpod: false } });
  expect(api.listed(WORKSPACES)).toBe(0);
  fleet.nodeHandlers.onReplace([fleet.observe({ metadata: METADATA })]);
  fleet.beginTerm();
  expect(fleet.snapshot('n1')?.workspaces).toEqual([]);
});

test('where no pods are placed, none are watched, and it is known that there are none', async () => {
  const placing = { namespace: 'workspaces', podSelector: undefined, services: undefined, nodeSelector: undefined };
  const { api, told, watches } = allWatches({ config: { ...CONFIG, placing } });
  expect(told).toEqual(['workspace pods: none']);
  void watches.run();
  await api.clock.advance(0);
  expect(api.listed(WORKSPACE_PODS)).toBe(0);
  expect(watches.unsynced()).toEqual([]);
});

test('workspace pods are not watched without a handler', async () => {
  const { api } = await runningWatches({ workspacePodHandlers: undefined });
  expect(api.listed(WORKSPACE_PODS)).toBe(0);
});

test('workspaces and their pods are unknown before the first list', () => {
  const { fleet, told } = allWatches();
  fleet.nodeHandlers.onReplace([fleet.observe({ metadata: METADATA })]);
  expect(fleet.snapshot('n1')?.workspaces).toBeUndefined();
  expect(told).toEqual([]);
});

test('whole Nodes are asked for only where they are wanted, anew when that has changed', async () => {
  let isWhole = false;
  const { api, watches, settle } = await runningWatches({ wholeNodes: () => isWhole });
  isWhole = true;
  watches.update();
  await settle();
  const accepts = api.lists.filter(({ path }) => path === NODES).map(({ accept }) => accept);
  expect(accepts).toEqual(['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', 'application/json']);
});

test('what was not listed yet is named', async () => {
  const { api, watches, settle } = allWatches({ services: () => [serviceOf()] });
  const ofCrds = ['NodePoolLabels', 'NodePoolLabelSets', 'NodeServices', 'Workspaces', 'NodeHolds'];
  expect(watches.unsynced()).toEqual(['nodes', 'agent pods', 'workspace pods', 'pods of services', ...ofCrds]);
  api.refused.set(AGENT_PODS, 500);
  void watches.run();
  await settle();
  expect(watches.unsynced()).toEqual(['agent pods']);
});

test.each([
  [POOL_LABELS, 'NodePoolLabels'],
  [POOL_SETS, 'NodePoolLabelSets'],
  [NODE_SERVICES, 'NodeServices'],
  [WORKSPACES, 'Workspaces'],
  [NODE_HOLDS, 'NodeHolds'],
])('objects of CRDs are waited for: %s', async (path, name) => {
  const { api, watches, settle } = allWatches();
  const answer = Promise.withResolvers<void>();
  api.delayed.set(path, answer.promise);
  void watches.run();
  await settle();
  expect(watches.unsynced()).toEqual([name]);
  answer.resolve();
  await settle();
  expect(watches.unsynced()).toEqual([]);
});

test.each([403, 404, 500])('a CRD that is answered with %i is waited for no more', async (status) => {
  const { api, watches } = allWatches();
  for (const path of [POOL_LABELS, POOL_SETS, NODE_SERVICES, WORKSPACES, NODE_HOLDS]) api.refused.set(path, status);
  void watches.run();
  await api.clock.advance(5000);
  expect(watches.unsynced()).toEqual([]);
});

test.each([NODES, AGENT_PODS, WORKSPACE_PODS, podsPath('default')])(
  'nothing is current before the first list of %s, nor after a failure',
  async (path) => {
    const { api, watches, settle } = allWatches({ services: () => [serviceOf()] });
    const answer = Promise.withResolvers<void>();
    api.delayed.set(path, answer.promise);
    void watches.run();
    await settle();
    expect(watches.current()).toBe(false);
    api.refused.set(path, 500);
    answer.resolve();
    await settle();
    expect(watches.current()).toBe(false);
    api.refused.clear();
    await api.clock.advance(5000);
    expect(watches.current()).toBe(true);
  },
);

test('a failure of what is needed makes nothing current, also after a list', async () => {
  const { api, watches, settle } = await runningWatches();
  expect(watches.current()).toBe(true);
  api.refused.set(NODES, 500);
  watches.relist(0);
  await settle();
  expect([watches.current(), watches.unsynced()]).toEqual([false, []]);
});

test.each([POOL_LABELS, POOL_SETS, NODE_SERVICES, WORKSPACES, NODE_HOLDS])(
  'objects of CRDs are listed anew, and waited for until the list came or failed: %s',
  async (path) => {
    const { api, watches, settle } = await runningWatches();
    const answer = Promise.withResolvers<void>();
    api.delayed.set(path, answer.promise);
    watches.relist(0);
    await settle();
    expect([api.listed(path), watches.current()]).toEqual([2, false]);
    answer.resolve();
    await settle();
    expect(watches.current()).toBe(true);
    api.delayed.clear();
    api.refused.set(path, 403);
    watches.relist(0);
    expect(watches.current()).toBe(false);
    await settle();
    expect(watches.current()).toBe(true);
  },
);

test('Nodes and pods are listed anew and waited for, but for those that were listed a moment ago', async () => {
  const { api, watches, settle } = await runningWatches({ services: () => [serviceOf()] });
  const lists = () => [NODES, AGENT_PODS, WORKSPACE_PODS].map((path) => api.listed(path));
  watches.relist(1000);
  await settle();
  expect([lists(), watches.current()]).toEqual([[1, 1, 1], true]);
  await api.clock.advance(1000);
  watches.relist(1000);
  expect(watches.current()).toBe(false);
  await settle();
  expect([lists(), watches.current()]).toEqual([[2, 2, 2], true]);
});

test('CRDs that are not installed count as empty, and do not keep anything from being current', async () => {
  const { api, told, fleet, watches } = allWatches();
  for (const path of [POOL_LABELS, POOL_SETS, NODE_SERVICES, WORKSPACES, NODE_HOLDS]) api.refused.set(path, 404);
  api.collections.set(NODES, [{ metadata: METADATA }]);
  void watches.run();
  await api.clock.advance(5000);
  fleet.beginTerm();
  expect(fleet.snapshot('n1')).toMatchObject({ workspaces: [], poolLabelSetsKnown: true });
  expect(told).toContain('services: none');
  expect(watches.current()).toBe(true);
});

test('it is silent since the last contact about Nodes or about the pods of agents, whichever is older', async () => {
  const { api, watches } = allWatches();
  expect(watches.silentMs()).toBe(Number.POSITIVE_INFINITY);
  void watches.run();
  await api.clock.advance(1000);
  expect(watches.silentMs()).toBe(1000);
  api.tell(NODES, 'MODIFIED', { metadata: METADATA });
  expect(watches.silentMs()).toBe(1000);
  api.tell(AGENT_PODS, 'MODIFIED', podObject('agent', {}, 'n1', 'rollcall'));
  expect(watches.silentMs()).toBe(0);
  await api.clock.advance(1000);
  api.tell(AGENT_PODS, 'MODIFIED', podObject('agent', {}, 'n1', 'rollcall'));
  expect(watches.silentMs()).toBe(1000);
});

test('Nodes are listed anew when rules ask for other features that they declare, and not otherwise', async () => {
  const { api, ask, settle } = await runningWatches();
  const lists = async (change: Parameters<typeof ask>[0]) => {
    ask(change);
    await settle();
    return api.listed(NODES);
  };
  expect(await lists({ usesDra: true })).toBe(1);
  expect(await lists({ declaredFeatures: ['A'] })).toBe(2);
  expect(await lists({ declaredFeatures: ['A'], nfdNames: ['cpu.cpuid.AVX'] })).toBe(2);
  expect(await lists({ declaredFeatures: ['A', 'B'] })).toBe(3);
  expect(await lists({})).toBe(4);
});

test('what rules ask for is watched while they do', async () => {
  const { api, ask, settle } = await runningWatches();
  ask({ usesDra: true, nfdNames: ['cpu.cpuid.AVX'] });
  await settle();
  expect(api.watched()).toEqual(expect.arrayContaining([SLICES, NODE_FEATURES]));
  ask();
  await settle();
  expect([api.watched().includes(SLICES), api.watched().includes(NODE_FEATURES)]).toEqual([false, false]);
});

test('ResourceSlices are watched while a service asks for their devices, or a rule does', async () => {
  const services: Service[] = [];
  const { api, watches, ask, settle } = await runningWatches({ services: () => services });
  const isWatched = async () => {
    await settle();
    return api.watched().includes(SLICES);
  };
  const changeTo = (...next: Service[]) => {
    services.splice(0, services.length, ...next);
    watches.update();
  };
  expect(await isWatched()).toBe(false);
  changeTo(WITH_DRA);
  expect(await isWatched()).toBe(true);
  ask();
  expect(await isWatched()).toBe(true);
  ask({ usesDra: true });
  changeTo();
  expect(await isWatched()).toBe(true);
  ask();
  expect(await isWatched()).toBe(false);
});

test('ResourceSlices that a service asks for from the start are watched when it runs', async () => {
  const { api } = await runningWatches({ services: () => [WITH_DRA] });
  expect(api.watched()).toContain(SLICES);
});

test('a service has a problem while ResourceSlices that it asks for may not be watched', async () => {
  const { api, watches, ask, settle } = await runningWatches({ services: () => [serviceOf()] });
  expect(watches.problemOf(WITH_DRA)).toBeUndefined();
  api.refused.set(SLICES, 403);
  ask({ usesDra: true });
  await settle();
  expect(watches.problemOf(serviceOf())).toBeUndefined();
  expect(watches.problemOf(WITH_DRA)).toBe(
    'The coordinator may not watch ResourceSlices: add resourceslices to watchResources in the chart, or grant it the verbs list and watch on resourceslices.resource.k8s.io',
  );
  api.refused.delete(SLICES);
  await api.clock.advance(29_000);
  expect(watches.problemOf(WITH_DRA)).toBeDefined();
  await api.clock.advance(1000);
  expect(watches.problemOf(WITH_DRA)).toBeUndefined();
});

test('what rules ask for reaches the fleet, of NodeFeatures what they name', async () => {
  const { api, fleet, watches, ask, settle } = allWatches();
  const spec = { driver: 'gpu', nodeName: 'n1', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } };
  api.collections.set(SLICES, [{ metadata: METADATA, spec } as never]);
  const labels = { 'nfd.node.kubernetes.io/node-name': 'n1' };
  const features = { flags: { 'cpu.cpuid': { elements: { AVX: {}, SSE: {} } } } };
  api.collections.set(NODE_FEATURES, [{ metadata: { ...METADATA, labels }, spec: { features } } as never]);
  ask({ usesDra: true, nfdNames: ['cpu.cpuid.AVX'] });
  void watches.run();
  await settle();
  const { slices, nodeFeatures } = onDemandOn(fleet.onDemand, 'n1');
  expect(slices).toMatchObject([{ driver: 'gpu' }]);
  expect(nodeFeatures?.map((each) => each.features)).toEqual([{ 'cpu.cpuid.AVX': true }]);
});

test('where NFD is not installed, it is known that there are no NodeFeatures, which come on small pages', async () => {
  const { api, fleet, ask } = await runningWatches();
  api.refused.set(NODE_FEATURES, 404);
  ask({ nfdNames: ['cpu.cpuid.AVX'] });
  await api.clock.advance(5000);
  expect(onDemandOn(fleet.onDemand, 'n1')).toMatchObject({ slices: undefined, nodeFeatures: [] });
  expect(api.lists.at(-1)).toMatchObject({ path: NODE_FEATURES, query: { limit: '50' } });
});

test('an outage of the watch of Nodes is told when it is over', async () => {
  const { api, told, watches } = await runningWatches();
  told.splice(0);
  api.refused.set(NODES, 500);
  watches.relist(0);
  await api.clock.advance(1000);
  const outages = () => told.filter((each) => each.startsWith('recovered'));
  expect(outages()).toEqual([]);
  api.refused.clear();
  await api.clock.advance(5000);
  expect(outages()).toEqual([expect.stringMatching(/^recovered after \d+ ms$/)]);
});

test.each([POOL_LABELS, POOL_SETS, NODE_SERVICES, NODE_HOLDS, WORKSPACES])(
  'objects of CRDs are listed anew every five minutes: %s',
  async (path) => {
    const { api } = await runningWatches();
    await api.clock.advance(299_999);
    expect(api.listed(path)).toBe(1);
    await api.clock.advance(1);
    expect([api.listed(path), api.listed(AGENT_PODS)]).toEqual([2, 1]);
  },
);

test('the services and NodeHolds that there are then are watched for when they have changed', async () => {
  const services = [serviceOf()];
  const { api, holds, watches, settle } = await runningWatches({ services: () => services });
  services.push(serviceOf('other', { checks: [podsCheck({ namespace: 'db', selector: {} })] }));
  watches.update();
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  watches.update();
  await settle();
  expect(api.watched()).toEqual(expect.arrayContaining([podsPath('default'), podsPath('db'), podsPath('ci')]));
});

test('people are told what may not be watched of a service and of a NodeHold', async () => {
  const { api, holds, watches, settle } = allWatches({ services: () => [serviceOf()] });
  api.refused.set(podsPath('default'), 403).set(podsPath('ci'), 403);
  holds.all.handlers().onReplace([nodeHold('jobs')]);
  watches.update();
  api.collections.set(NODE_HOLDS, []);
  void watches.run();
  await settle();
  expect(watches.problemOf(serviceOf())).toMatch('may not watch the pods in default');
  expect(watches.problemOfHold(nodeHold('jobs'))).toMatch('may not watch the pods in ci');
});
