import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { expect, test } from 'vitest';
import { completedAudit, completedDiff, completedNode, completedNodes, completedSchedule } from './completed.ts';

/** As the first coordinators answered: of what came later, nothing. */
const old = { replica: { leading: true } } as never;
const replica = { leading: true, name: 'unnamed', version: 'of unknown version', guards: [], heldWithdrawals: [] };

test('the lists of an older coordinator are empty', () => {
  expect(completedNodes(old)).toEqual({ replica, nodes: [] });
  expect(completedNode(old)).toEqual({ replica, agent: { state: 'absent' }, services: [], keys: [], changes: [] });
  expect(completedAudit(old)).toEqual({ replica, keys: [], entries: [] });
  expect(completedDiff(old)).toEqual({ replica, problems: [], notes: [], nodes: [] });
  expect(completedSchedule(old)).toEqual({ replica, nodes: [] });
});

test('what a node of an older coordinator does not tell is taken for none', () => {
  const nodes = [{ name: 'node-1' }] as never;
  expect(completedNodes({ replica: replicaDocument(), nodes }).nodes).toEqual([
    { name: 'node-1', agent: 'absent', services: {}, heldBack: [], contested: [], skipped: [], pending: false },
  ]);
  expect(completedDiff({ replica: replicaDocument(), nodes } as never).nodes).toEqual([
    { name: 'node-1', evicted: [] },
  ]);
  expect(completedSchedule({ replica: replicaDocument(), nodes } as never).nodes).toEqual([
    { name: 'node-1', refusals: [], terms: [] },
  ]);
});

test('a service of an older coordinator asks for pods and a probe', () => {
  const services = [{ name: 'a' }] as never;
  expect(completedNode({ replica: replicaDocument(), services } as never).services).toEqual([
    { name: 'a', asks: { pods: true, probe: true }, pods: [] },
  ]);
});

test('what a coordinator tells stays', () => {
  const told = { name: 'node-1', agent: 'fresh', services: { a: 'ready' }, heldBack: ['a'], contested: ['b'] } as const;
  const node = { ...told, skipped: ['c'], pending: true };
  const document = { replica: replicaDocument({ guards: ['fleet'] }), eventId: '7', nodes: [node] };
  expect(completedNodes(document)).toEqual(document);
});
