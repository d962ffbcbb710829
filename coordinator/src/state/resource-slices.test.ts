import { expect, test, vi } from 'vitest';
import type { ResourceSlice } from '../kube/objects.ts';
import { type ObjectChange, placesOf } from './collection.ts';
import { createOnDemand, onDemandOn } from './on-demand-objects.ts';
import { draDevices, type ObservedResourceSlice, observeResourceSlice, type SliceNode } from './resource-slices.ts';

const CREATED = '2026-01-01T00:00:10Z';

function nodeOf(name: string, labels: Record<string, string> = {}): SliceNode {
  return { name, uid: `uid-${name}`, createdAtMs: Date.parse(CREATED), labels };
}

function slice(
  name: string,
  change: { node?: string; all?: boolean; devices?: number; generation?: number; slices?: number } = {},
) {
  const { node = 'n', all, devices = 1, generation = 1, slices = 1 } = change;
  return observeResourceSlice({
    metadata: { name, uid: name, resourceVersion: '1' },
    spec: {
      driver: 'gpu.nvidia.com',
      ...(node === '' ? {} : { nodeName: node }),
      ...(all ? { allNodes: true } : {}),
      pool: { name: node, generation, resourceSliceCount: slices },
      devices: Array(devices).fill({}),
    },
  });
}

function start() {
  const all = createOnDemand();
  const onChange = vi.fn();
  const changed = (changes: readonly ObjectChange<ObservedResourceSlice>[]) =>
    placesOf(changes, ({ node }) => node).forEach((node) => void onChange(node));
  all.slices.onChange({ changed, listed: changed });
  const { onReplace: replace, onUpsert: upsert, onDelete: remove } = all.slices.handlers();
  const on = (node: SliceNode) => draDevices(onDemandOn(all, node.name).slices ?? [], node);
  return {
    slices: { replace, upsert, remove },
    onChange,
    on: (node: string) => on(nodeOf(node)).get('gpu.nvidia.com'),
    at: on,
  };
}

test('a slice without devices is one with none, also where Kubernetes 1.34 writes null', () => {
  const spec = { driver: 'd', nodeName: 'n', pool: { name: 'n', generation: 1, resourceSliceCount: 1 } };
  for (const more of [{}, { devices: [] }, { devices: null }]) {
    const none = observeResourceSlice({
      metadata: { name: 'a', uid: 'a', resourceVersion: '1' },
      spec: { ...spec, ...more },
    });
    expect(draDevices([none], nodeOf('n')).get('d')).toEqual({ count: 0, isComplete: true });
  }
});

test('the devices of a node are counted by driver, in all slices of its pool', () => {
  const { slices, on, onChange } = start();
  slices.replace([slice('a', { devices: 4, slices: 2 }), slice('other', { node: 'm' }), slice('shared', { node: '' })]);
  expect(on('n')).toEqual({ count: 4, isComplete: false });
  slices.upsert(slice('b', { devices: 4, slices: 2 }));
  expect(on('n')).toEqual({ count: 8, isComplete: true });
  onChange.mockClear();
  slices.upsert(slice('b', { devices: 4, slices: 2 }));
  expect(onChange).not.toHaveBeenCalled();
  slices.remove(slice('b'));
  expect(onChange.mock.calls).toEqual([['n']]);
});

test('of a pool that is being written anew, the newest generation counts', () => {
  const { slices, on } = start();
  slices.replace([slice('a', { devices: 8 }), slice('b', { devices: 7, generation: 2 })]);
  expect(on('n')).toEqual({ count: 7, isComplete: true });
});

test('one that moves is counted where it is', () => {
  const { slices, on, onChange } = start();
  slices.replace([slice('a')]);
  onChange.mockClear();
  slices.replace([slice('a', { node: 'm' })]);
  expect(on('n')).toBeUndefined();
  expect(on('m')?.count).toBe(1);
  expect(onChange.mock.calls.flat().sort()).toEqual(['m', 'n']);
});

test('a device counts unless a taint keeps pods off it', () => {
  const metadata = { name: 'a', uid: 'a', resourceVersion: '1' };
  const pool = { name: 'n', generation: 1, resourceSliceCount: 1 };
  const tainted = (...effects: string[]) => ({ taints: effects.map((effect) => ({ key: 'k', effect })) });
  const devices = [
    {},
    tainted(),
    tainted('None'),
    tainted('NoSchedule'),
    tainted('NoExecute'),
    tainted('None', 'NoExecute'),
  ];
  const observed = observeResourceSlice({ metadata, spec: { driver: 'd', nodeName: 'n', pool, devices } });
  expect(draDevices([observed], nodeOf('n')).get('d')).toEqual({ count: 3, isComplete: true });
});

test('a slice that lists no devices offers none', () => {
  const metadata = { name: 'a', uid: 'a', resourceVersion: '1' };
  const pool = { name: 'n', generation: 1, resourceSliceCount: 1 };
  const observed = observeResourceSlice({ metadata, spec: { driver: 'd', nodeName: 'n', pool } });
  expect(draDevices([observed], nodeOf('n')).get('d')).toEqual({ count: 0, isComplete: true });
});

/** What these slices offer on a node of this name and with these labels. */
function offer(
  specs: Partial<ResourceSlice['spec']>[],
  node = nodeOf('n'),
  metadata: Partial<ResourceSlice['metadata']> = {},
) {
  const { slices, at } = start();
  slices.replace(
    specs.map((spec, index) =>
      observeResourceSlice({
        metadata: { name: `s${index}`, uid: `s${index}`, resourceVersion: '1', ...metadata },
        spec: {
          driver: 'd',
          pool: { name: 'p', generation: 1, resourceSliceCount: specs.length },
          devices: [{}],
          ...spec,
        },
      }),
    ),
  );
  return at(node).get('d') ?? 'none';
}

const ONE = { count: 1, isComplete: true };

test('a slice that an earlier Node of the name owns does not count', () => {
  const owned = (uid: string) => ({ ownerReferences: [{ kind: 'Node', uid }] });
  expect(offer([{ nodeName: 'n' }], nodeOf('n'), owned('uid-n'))).toEqual(ONE);
  expect(offer([{ nodeName: 'n' }], nodeOf('n'), owned('old'))).toBe('none');
});

test('a slice that no Node owns counts once it was written since the Node was created; before, that is unknown', () => {
  const written = (creationTimestamp: string, time?: string) =>
    offer([{ nodeName: 'n' }], nodeOf('n'), { creationTimestamp, ...(time ? { managedFields: [{ time }] } : {}) });
  expect(written(CREATED)).toEqual(ONE);
  expect(written('2026-01-01T00:00:09Z')).toEqual({ count: 0, isComplete: false });
  expect(written('2026-01-01T00:00:09Z', '2026-01-01T00:00:11Z')).toEqual(ONE);
});

const inZone = (zone: string) => ({
  nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] }] },
});

test('a slice reaches a node by its name, by its labels, or as one of all', () => {
  const there = nodeOf('n', { zone: 'a' });
  expect(offer([{ allNodes: true }], there)).toEqual(ONE);
  expect(offer([inZone('a')], there)).toEqual(ONE);
  expect(offer([inZone('b')], there)).toEqual({ count: 0, isComplete: true });
  expect(offer([{ nodeName: 'm' }], there)).toBe('none');
  expect(offer([{ nodeName: 'n' }, { allNodes: true }, inZone('a'), inZone('b')], there)).toEqual({
    count: 3,
    isComplete: true,
  });
});

test('each device says which nodes it reaches where the slice leaves it to them', () => {
  const devices = [{ nodeName: 'n' }, { nodeName: 'm' }, { allNodes: true }, inZone('a'), inZone('b')];
  const spec = { perDeviceNodeSelection: true, devices };
  expect(offer([spec], nodeOf('n', { zone: 'a' }))).toEqual({ count: 3, isComplete: true });
  expect(offer([spec], nodeOf('m', { zone: 'c' }))).toEqual({ count: 2, isComplete: true });
});

const takes = (...amounts: [counter: string, value: string][]) => ({
  consumesCounters: [
    { counterSet: 'gpu-0', counters: Object.fromEntries(amounts.map(([name, value]) => [name, { value }])) },
  ],
});
const GPU = {
  name: 'gpu-0',
  counters: {
    memory: { value: '40Gi' },
    ...Object.fromEntries([0, 1, 2, 3, 4, 5, 6].map((n) => [`slice-${n}`, { value: '1' }])),
  },
};
const PARTITIONS = [0, 1, 2, 3, 4, 5, 6].map((n) => takes(['memory', '5Gi'], [`slice-${n}`, '1']));
const WHOLE = takes(['memory', '40Gi'], ...PARTITIONS.map((_, n): [string, string] => [`slice-${n}`, '1']));

test('devices that share counters count as many as can be allocated at once', () => {
  const sharedCounters = [GPU];
  expect(offer([{ nodeName: 'n', sharedCounters, devices: [WHOLE, ...PARTITIONS] }])).toEqual({
    count: 7,
    isComplete: true,
  });
  expect(offer([{ nodeName: 'n', sharedCounters, devices: [WHOLE] }])).toEqual(ONE);
  expect(offer([{ nodeName: 'n', sharedCounters, devices: [WHOLE, {}, {}] }])).toEqual({ count: 3, isComplete: true });
});

test('shared counters may be in another slice of the pool', () => {
  const counters = { nodeName: 'n', sharedCounters: [GPU], devices: [] };
  const devices = { nodeName: 'n', devices: [WHOLE, ...PARTITIONS] };
  expect(offer([counters, devices])).toEqual({ count: 7, isComplete: true });
});
