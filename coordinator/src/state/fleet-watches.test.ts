import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { EVERY_NODE, type OnNode } from './collection.ts';
import { agentPod, watchedFleet } from './fleet.test-fixtures.ts';
import { mapOnDemand, ON_DEMAND, onDemandObjects, onDemandOn } from './on-demand-objects.ts';

const POOL = 'example.com/pool';
const LATER_POOL = 'example.com/later-pool';

function watched() {
  const clock = new FakeClock();
  const pools: string[][] = [];
  const poolsChanged = (changed: ReadonlySet<string>) => pools.push([...changed]);
  return { ...watchedFleet(['n', 'm'], { clock, poolLabels: [POOL, LATER_POOL] }, { poolsChanged }), pools };
}

const ALL = ['n normal', 'm normal'];

test('a pod of a service that comes, moves or goes makes the nodes that it is and was on urgent', () => {
  const { fleet, told } = watched();
  const { onReplace, onUpsert, onDelete } = fleet.servicePods.handlers('default');
  onReplace([]);
  expect(told()).toEqual(ALL);
  onUpsert(agentPod('p', 'n'));
  expect(told()).toEqual(['n urgent']);
  onUpsert(agentPod('p', 'm'));
  expect(told()).toEqual(['n urgent', 'm urgent']);
  onDelete(agentPod('p', 'm'));
  expect(told()).toEqual(['m urgent']);
});

test('a workspace that comes, moves or goes makes the nodes that it is and was on urgent', () => {
  const { fleet, told } = watched();
  const workspace = (node: string) => ({ uid: 'w', namespace: 'default', name: 'w', node });
  const { onReplace, onUpsert, onDelete } = fleet.workspaces.handlers();
  onReplace([]);
  expect(told()).toEqual(ALL);
  onUpsert(workspace('n'));
  expect(told()).toEqual(['n urgent']);
  onUpsert(workspace('m'));
  expect(told()).toEqual(['n urgent', 'm urgent']);
  onDelete(workspace('m'));
  expect(told()).toEqual(['m urgent']);
});

test('the workspaces of a node are known once they were listed, and until their watch is lost', () => {
  const { fleet, told } = watched();
  const workspace = { uid: 'w', namespace: 'default', name: 'w', node: 'n' };
  const { onReplace, onLost } = fleet.workspaces.handlers();
  const seen = () => fleet.snapshot('n')?.workspaces;
  expect(seen()).toBeUndefined();
  onReplace([workspace]);
  expect([seen(), told()]).toEqual([[workspace], ['n urgent', ...ALL]]);
  onReplace([workspace]);
  expect(told()).toEqual([]);
  onLost?.();
  expect(seen()).toBeUndefined();
  onReplace([workspace]);
  expect([seen(), told()]).toEqual([[workspace], ALL]);
});

test('the labels of pools are known once both kinds were listed, and only nodes of a pool are looked at because of it', () => {
  const { fleet, node, told, pools } = watched();
  const gold = {
    kind: 'NodePoolLabels' as const,
    ...{ uid: 's', name: 'gold', namespace: 'rollcall', generation: 1, createdAt: '', pool: 'gold' },
    ...{ labels: {}, status: undefined },
  };
  fleet.nodeHandlers.onUpsert(node('n', { [POOL]: 'gold' }, '2'));
  fleet.nodeHandlers.onUpsert(node('m', { [POOL]: 'silver' }, '2'));
  told();
  const { onReplace, onUpsert, onLost } = fleet.poolLabelSets.handlers('NodePoolLabels');
  const known = () => fleet.snapshot('n')?.poolLabelSetsKnown;
  expect(known()).toBe(false);
  onReplace([]);
  expect([known(), told()]).toEqual([false, ALL]);
  fleet.poolLabelSets.handlers('NodePoolLabelSet').onReplace([]);
  expect([known(), told()]).toEqual([true, ALL]);
  onUpsert(gold);
  expect([told(), pools]).toEqual([['n normal'], [['gold']]]);
  expect([fleet.poolLabelSetOf('n'), fleet.poolLabelSetOf('m')]).toEqual([gold, undefined]);
  expect(fleet.snapshot('n')?.poolLabelSet).toBe(gold);
  onLost?.();
  expect(known()).toBe(false);
});

test('a NodePoolLabelSet of a pool that a later label names concerns the node as well', () => {
  const { fleet, node, told } = watched();
  const gold = {
    ...{ kind: 'NodePoolLabelSet' as const, uid: 's', name: 'gold', namespace: 'rollcall', generation: 1 },
    ...{ createdAt: '', pool: 'gold' },
    ...{ labels: {}, status: undefined },
  };
  fleet.nodeHandlers.onUpsert(node('n', { [POOL]: 'silver', [LATER_POOL]: 'gold' }, '2'));
  fleet.poolLabelSets.handlers('NodePoolLabelSet').onReplace([]);
  fleet.poolLabelSets.handlers('NodePoolLabels').onReplace([]);
  told();
  fleet.poolLabelSets.handlers('NodePoolLabelSet').onUpsert(gold);
  expect(told()).toEqual(['n normal']);
  expect(fleet.snapshot('n')).toMatchObject({ pool: 'silver', otherPools: ['gold'], otherPoolLabelSets: [gold] });
  fleet.nodeHandlers.onUpsert(node('n', { [POOL]: 'silver' }, '3'));
  expect(fleet.snapshot('n')).toMatchObject({ otherPools: [], otherPoolLabelSets: [] });
});

test.each(Object.values(mapOnDemand((name) => name)).filter((name) => !('isForGate' in ON_DEMAND[name])))(
  'what is watched on demand is known once it was listed, and makes its node urgent when it changes: %s',
  (name) => {
    const { fleet, told } = watched();
    const objects = onDemandObjects(fleet.onDemand, name);
    const object = { uid: 'x', namespace: '', name: 'x', node: 'n', value: [1] };
    const seen = () => ['n', 'm'].map((node) => onDemandOn(fleet.onDemand, node)[name]);
    expect(seen()).toEqual([undefined, undefined]);
    objects.handlers().onUpsert(object);
    expect([seen(), told()]).toEqual([[undefined, undefined], ['n urgent']]);
    objects.handlers().onReplace([{ ...object, value: [1] } as OnNode]);
    // That m has none is news as well.
    expect([seen(), told()]).toEqual([[[object], []], ALL]);
    objects.handlers().onReplace([{ ...object, value: [2], node: 'm' } as OnNode]);
    expect(told()).toEqual(['n urgent', 'm urgent']);
    objects.handlers().onUpsert({ ...object, name: 'shared', node: EVERY_NODE });
    expect([seen().map((each) => each?.length), told()]).toEqual([[1, 2], ALL]);
    objects.forget();
    expect([seen(), told()]).toEqual([[undefined, undefined], ALL.concat(ALL)]);
    objects.forget();
    expect(told()).toEqual([]);
  },
);

test('what drivers and NFD say of a node is in its inventory once it is known', () => {
  const { fleet } = watched();
  const placed = { uid: 'x', namespace: '', name: 'x', node: 'n', writtenMs: Number.POSITIVE_INFINITY };
  const devices = [{ count: 1, sharing: [] }];
  const inventory = () => fleet.snapshot('n')?.inventory;
  expect([inventory()?.dra, inventory()?.nfd]).toEqual([undefined, undefined]);
  const slice = { ...placed, driver: 'd', pool: 'n', generation: 1, slices: 1, devices };
  fleet.onDemand.slices.handlers().onReplace([slice]);
  fleet.onDemand.nodeFeatures.handlers().onReplace([{ ...placed, features: { 'cpu.model.family': '6' } }]);
  expect(inventory()?.dra).toEqual(new Map([['d', { count: 1, isComplete: true }]]));
  expect(inventory()?.nfd).toEqual({ 'cpu.model.family': '6' });
});

test('DaemonSets and their pods matter to nodes behind the startup gate alone', () => {
  const { fleet, node, told } = watched();
  fleet.nodeHandlers.onUpsert({ ...node('n', {}, '2'), taints: [{ key: STARTUP_TAINT, effect: 'NoSchedule' }] });
  told();
  const base = { uid: 'd', namespace: 'system', name: 'd' };
  const { daemonSets, daemonPods } = fleet.onDemand;
  daemonSets.handlers().onReplace([{ ...base, labels: {}, template: {}, node: '*' }]);
  expect([...new Set(told())]).toEqual(['n normal']);
  const pod = (on: string, readySinceSeconds: number) => ({
    ...base,
    name: on,
    node: on,
    createdAtSeconds: 1,
    readySinceSeconds,
  });
  daemonPods.handlers().onReplace([pod('n', 0), pod('m', 0)]);
  told();
  daemonPods.handlers().onUpsert(pod('m', 1));
  expect(told()).toEqual([]);
  daemonPods.handlers().onUpsert(pod('n', 1));
  expect(told()).toEqual(['n normal']);
  daemonSets.handlers().onUpsert({ ...base, labels: {}, template: { nodeSelector: { a: 'b' } }, node: '*' });
  expect(told()).toEqual(['n normal']);
  fleet.nodeHandlers.onUpsert({ ...node('n', {}, '3'), taints: [] });
  told();
  daemonPods.handlers().onUpsert(pod('n', 0));
  expect(told()).toEqual([]);
});

test('a Node that changed is looked at, and one that is gone is not', () => {
  const { fleet, node, told } = watched();
  fleet.nodeHandlers.onUpsert(node('n', { a: '1' }, '2'));
  expect(told()).toEqual(['n normal']);
  fleet.nodeHandlers.onDelete(node('n'));
  expect([told(), fleet.snapshot('n'), fleet.nodeNames()]).toEqual([[], undefined, ['m']]);
});

test('the answer to a write counts, and a watch that is behind does not undo it', () => {
  const { fleet, node } = watched();
  fleet.written(node('n', { a: 'written' }, '3'));
  fleet.nodeHandlers.onUpsert(node('n', { a: 'late' }, '2'));
  expect(fleet.node('n')?.labels).toEqual({ a: 'written' });
});

test('the pod of an agent is found by its name while it is the same, and is counted', () => {
  const { fleet } = watched();
  const pod = agentPod('p', 'n');
  fleet.agentPods.handlers().onReplace([pod, agentPod('q', 'm', { terminating: true })]);
  expect(fleet.agentPodNode(pod)).toBe('n');
  expect(fleet.agentPodNode({ namespace: 'rollcall', name: 'q', uid: 'uid-q' })).toBe('m');
  expect(fleet.agentPodNode({ ...pod, uid: 'another' })).toBeUndefined();
  expect(fleet.agentPodNode({ ...pod, namespace: 'default' })).toBeUndefined();
  expect(fleet.agentPods.size).toBe(2);
});
