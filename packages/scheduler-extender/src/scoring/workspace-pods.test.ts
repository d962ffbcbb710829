import { observeWorkspacePod } from '@rollcall/coordinator/state/observed-workspace.ts';
import { expect, test } from 'vitest';
import { countWorkspaces, placeOn } from './schedulable-node.ts';
import { node } from './scheduler.test-fixtures.ts';

function observed(status: object, metadata: object = {}) {
  return observeWorkspacePod({
    metadata: { uid: 'u', namespace: 'default', name: 'ws-1', ...metadata },
    spec: { nodeName: 'n' },
    status,
  });
}

const READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

test('a workspace is starting until its pod is Ready, or on its way out', () => {
  expect(observed({ phase: 'Pending' }).starting).toBe(true);
  expect(observed({ phase: 'Running' }).starting).toBe(true);
  expect(observed(READY).starting).toBe(false);
  expect(observed({ phase: 'Running' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }).starting).toBe(false);
});

test('a pod whose containers have ended takes no room', () => {
  expect(observed(READY).node).toBe('n');
  expect(observed({ phase: 'Succeeded' }).node).toBe('');
  expect(observed({ phase: 'Failed' }).node).toBe('');
  expect(observeWorkspacePod({ metadata: { uid: 'u', name: 'x' } })).toMatchObject({ node: '' });
});

test('a pod waits for a node until it has one, or has ended', () => {
  expect(observeWorkspacePod({ metadata: { uid: 'u', name: 'x' } }).waiting).toBe(true);
  expect(observeWorkspacePod({ metadata: { uid: 'u', name: 'x' }, status: { phase: 'Failed' } }).waiting).toBe(false);
  expect(observed({ phase: 'Pending' }).waiting).toBe(false);
  expect(observed({ phase: 'Succeeded' }).waiting).toBe(false);
});

test('the workspaces of a node are counted with all that they ask for', () => {
  const pods = [
    { ...observed(READY), cpu: 0.5, memory: 100 },
    { ...observed({ phase: 'Pending' }), cpu: 2, memory: 30 },
  ];
  expect(countWorkspaces(pods)).toMatchObject({ total: 2, asked: { cpu: 2.5, memory: 130 } });
  expect(countWorkspaces([])).toEqual({ total: 0, startingUntilMs: [], asked: { cpu: 0, memory: 0 } });
});

test('a pod starts until it was Ready once, and for ten minutes at most', () => {
  const [fromMs, lastMs] = [1_000_000, 1_000_000 + 600_000];
  const starts = { ...observed({ phase: 'Pending' }), sinceMs: fromMs };
  const startingAt = (nowMs: number, wereReady?: ReadonlySet<string>) =>
    placeOn(node({ workspaces: countWorkspaces([starts], wereReady) }), nowMs).starting;
  expect([startingAt(fromMs), startingAt(lastMs - 1), startingAt(lastMs)]).toEqual([1, 1, 0]);
  expect(startingAt(fromMs, new Set(['u']))).toBe(0);
  expect(startingAt(fromMs, new Set(['other']))).toBe(1);
});
