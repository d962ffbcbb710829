import { expect, test } from 'vitest';
import { observeWorkspacePod } from './observed-workspace.ts';

const pod = (node: string | undefined, phase: string, ready: boolean, deletionTimestamp?: string) =>
  observeWorkspacePod({
    metadata: { uid: 'u', name: 'p', ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
    spec: node === undefined ? {} : { nodeName: node },
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  });

test.each([
  ['no node yet', pod(undefined, 'Pending', false), { node: '', waiting: true, starting: true }],
  ['a node', pod('n', 'Pending', false), { node: 'n', waiting: false, starting: true }],
  ['become Ready', pod('n', 'Running', true), { node: 'n', waiting: false, starting: false }],
  ['to go', pod('n', 'Running', false, '2026-01-01T00:00:00Z'), { node: 'n', waiting: false, starting: false }],
  ['ended', pod('n', 'Failed', false), { node: '', waiting: false }],
  ['ended without a node', pod(undefined, 'Succeeded', false), { node: '', waiting: false }],
])('a pod that has %s takes room, waits and starts accordingly', (_what, observed, expected) => {
  expect(observed).toMatchObject(expected);
});

test('a pod starts from when it got its node, or else was created', () => {
  const creationTimestamp = '2026-01-01T00:00:00Z';
  const since = (status: string) => {
    const conditions = [{ type: 'PodScheduled', status, lastTransitionTime: '2026-01-01T01:00:00Z' }];
    return observeWorkspacePod({ metadata: { uid: 'u', name: 'p', creationTimestamp }, status: { conditions } });
  };
  expect(since('True')).toMatchObject({ sinceMs: Date.UTC(2026, 0, 1, 1), refused: false });
  expect(since('False')).toMatchObject({ sinceMs: Date.UTC(2026, 0, 1), refused: true });
});

test('a pod is nominated for a node until it has one', () => {
  const nominated = (nodeName: string | undefined) =>
    observeWorkspacePod({
      metadata: { uid: 'u', name: 'p' },
      spec: nodeName === undefined ? {} : { nodeName },
      status: { nominatedNodeName: 'n' },
    }).nominated;
  expect([nominated(undefined), nominated('m')]).toEqual(['n', '']);
});

test('a pod of which nothing is said yet is starting', () => {
  expect(observeWorkspacePod({ metadata: { uid: 'u', name: 'p' } })).toMatchObject({ starting: true, waiting: true });
});
