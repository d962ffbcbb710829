import { expect, test } from 'vitest';
import type { CsiNode } from '../kube/objects.ts';
import { observeCsiNode } from './csi-nodes.ts';

const METADATA = { name: 'n', uid: 'csi', resourceVersion: '1' };
const at = (name: string, drivers: string[], nodeUid = 'u', problem?: string) => ({
  ...{ uid: 'csi', namespace: '', name, node: name, nodeUid, drivers },
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
