import type { NodeSummary } from '@rollcall/common/console.ts';
import { expect, test } from 'vitest';
import { isDisputed, needsLook, noCounts, stateOfNode, stateOfService, troubles } from './node-state.ts';
import { summary } from './summary.test-fixtures.ts';

const DOWN = { services: { a: 'not-ready', b: 'ready' } } as const;

test.each<[string, Partial<NodeSummary>]>([
  ['ready', {}],
  ['ready', { services: { a: 'ready' } }],
  ['none', { services: {} }],
  ['not-ready', DOWN],
  ['held-back', { ...DOWN, heldBack: ['a'] }],
  ['not-ready', { services: { a: 'not-ready', b: 'not-ready' }, heldBack: ['a'] }],
  ['unknown', { services: { a: 'unknown', b: 'ready' } }],
  ['not-ready', { services: { a: 'unknown', b: 'not-ready' } }],
  ['silent', { ...DOWN, agent: 'silent' }],
  ['silent', { agent: 'silent' }],
  ['guarded', { agent: 'silent', guard: 'fleet' }],
  // Services without a probe need no agent.
  ['ready', { agent: 'absent' }],
  ['silent', { ...DOWN, agent: 'absent' }],
])('a node is shown as %s: %o', (state, change) => {
  expect(stateOfNode(summary('n', change))).toBe(state);
});

test('a service on a node has a state of its own', () => {
  const node = summary('n', { services: { a: 'not-ready', b: 'ready', c: 'not-ready' }, heldBack: ['c'] });
  expect(['a', 'b', 'c', 'd', 'constructor'].map((service) => stateOfService(node, service))).toEqual([
    'not-ready',
    'ready',
    'held-back',
    undefined,
    undefined,
  ]);
  expect(stateOfService({ ...node, agent: 'silent' }, 'a')).toBe('silent');
});

test('a node that is ready needs a look where others change or own its keys', () => {
  expect(needsLook(summary('n'))).toBe(false);
  expect(needsLook(summary('n', { contested: ['k'] }))).toBe(true);
  expect(needsLook(summary('n', { skipped: ['k'] }))).toBe(true);
  expect(needsLook(summary('n', DOWN))).toBe(true);
});

test('a service whose agent was never heard is silent', () => {
  const node = summary('n', { services: { a: 'not-ready', b: 'unknown' }, agent: 'absent' });
  expect(stateOfService(node, 'a')).toBe('silent');
  expect(stateOfService(node, 'b')).toBe('unknown');
  expect(stateOfService({ ...node, heldBack: ['a'] }, 'a')).toBe('held-back');
});

test('a node of no service needs no look', () => {
  expect(needsLook(summary('n', { services: {} }))).toBe(false);
});

test('troubles are all states but ready and none', () => {
  const counts = { 'not-ready': 1, silent: 2, 'held-back': 4, guarded: 8, unknown: 16, none: 32, ready: 64 };
  expect(troubles(counts)).toBe(31);
  expect(troubles(noCounts())).toBe(0);
  expect(Object.values(noCounts())).toEqual([0, 0, 0, 0, 0, 0, 0]);
});

test('a node is disputed where others change or own a key', () => {
  expect([{}, { contested: ['k'] }, { skipped: ['k'] }].map((change) => isDisputed(summary('n', change)))).toEqual([
    false,
    true,
    true,
  ]);
});
