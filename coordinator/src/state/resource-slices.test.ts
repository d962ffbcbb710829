import { expect, test, vi } from 'vitest';
import { OnDemandObjects } from './on-demand-objects.ts';
import { draDevices, type ObservedResourceSlice, observeResourceSlice } from './resource-slices.ts';

function slice(name: string, change: { node?: string; devices?: number; generation?: number; slices?: number } = {}) {
  const { node = 'n', devices = 1, generation = 1, slices = 1 } = change;
  return observeResourceSlice({
    metadata: { name, uid: name, resourceVersion: '1' },
    spec: {
      driver: 'gpu.nvidia.com',
      ...(node === '' ? {} : { nodeName: node }),
      pool: { name: node, generation, resourceSliceCount: slices },
      devices: Array(devices).fill({}),
    },
  });
}

function start() {
  const onChange = vi.fn();
  const slices = new OnDemandObjects<ObservedResourceSlice>(onChange, () => {});
  return { slices, onChange, on: (node: string) => draDevices(slices.on(node) ?? []).get('gpu.nvidia.com') };
}

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
  expect(draDevices([observed]).get('d')).toEqual({ count: 3, isComplete: true });
});

test('a slice that lists no devices offers none', () => {
  const metadata = { name: 'a', uid: 'a', resourceVersion: '1' };
  const pool = { name: 'n', generation: 1, resourceSliceCount: 1 };
  const observed = observeResourceSlice({ metadata, spec: { driver: 'd', nodeName: 'n', pool } });
  expect(draDevices([observed]).get('d')).toEqual({ count: 0, isComplete: true });
});
