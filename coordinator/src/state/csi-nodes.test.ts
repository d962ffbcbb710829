import { expect, test } from 'vitest';
import type { CsiNode } from '../kube/objects.ts';
import { CsiNodes, observeCsiNode } from './csi-nodes.ts';

const METADATA = { name: 'n', uid: 'csi', resourceVersion: '1' };
const at = (name: string, drivers: string[], nodeUid = 'u', problem?: string) => ({
  ...{ name, nodeUid, drivers },
  storageProblems: new Map(problem === undefined ? [] : [['a', problem]]),
});

test('a CSINode is of the Node that owns it, and lists its drivers in order', () => {
  const ownerReferences = [
    { kind: 'Other', name: 'n', uid: 'x' },
    { kind: 'Node', name: 'n', uid: 'u' },
  ];
  const spec = { drivers: [{ name: 'b' }, { name: 'a' }] };
  expect(observeCsiNode({ metadata: { ...METADATA, ownerReferences }, spec } as CsiNode)).toEqual(at('n', ['a', 'b']));
  expect(observeCsiNode({ metadata: METADATA } as CsiNode)).toEqual(at('n', [], ''));
});

test('a CSINode has the first problem of the storage of each driver that reports one', () => {
  const healthConditions = [
    { status: 'StorageUnreachable', reason: 'NoPath', message: 'no path to the array' },
    { status: 'StorageDegraded', reason: 'Slow' },
  ];
  const storageHealth = [{ name: 'a', healthConditions }, { name: 'b', healthConditions: [] }, { name: 'c' }];
  const observed = (status: CsiNode['status']) => observeCsiNode({ metadata: METADATA, status } as CsiNode);
  expect(observed({ storageHealth })).toEqual(at('n', [], '', 'StorageUnreachable: NoPath: no path to the array'));
  expect(observed({ storageHealth: [{ name: 'a', healthConditions: [{ status: 'StorageDegraded' }] }] })).toEqual(
    at('n', [], '', 'StorageDegraded'),
  );
  expect(observed({})).toEqual(at('n', [], ''));
});

test('CSINodes are not known before they are listed, and only what differs is told', () => {
  const told: string[] = [];
  const nodes = new CsiNodes(
    (name) => told.push(name),
    () => told.push('known'),
  );
  expect([nodes.known, nodes.of('n')]).toEqual([false, undefined]);
  nodes.replace([at('n', ['a']), at('m', [])]);
  expect([nodes.known, nodes.of('n')?.drivers, told.splice(0)]).toEqual([true, ['a'], ['n', 'm', 'known']]);
  nodes.upsert(at('n', ['a']));
  expect(told).toEqual([]);
  nodes.upsert(at('n', ['a', 'b']));
  nodes.upsert(at('n', ['a', 'b'], 'another'));
  expect([nodes.of('n'), told.splice(0)]).toEqual([at('n', ['a', 'b'], 'another'), ['n', 'n']]);
  nodes.upsert(at('n', ['a', 'b'], 'another', 'StorageDegraded'));
  nodes.upsert(at('n', ['a', 'b'], 'another', 'StorageDegraded'));
  nodes.upsert(at('n', ['a', 'b'], 'another'));
  expect(told.splice(0)).toEqual(['n', 'n']);
  nodes.replace([at('n', ['a', 'b'], 'another')]);
  expect([nodes.of('m'), told.splice(0)]).toEqual([undefined, ['m']]);
  nodes.remove({ name: 'm' });
  nodes.remove({ name: 'n' });
  expect([nodes.of('n'), told]).toEqual([undefined, ['n']]);
});
