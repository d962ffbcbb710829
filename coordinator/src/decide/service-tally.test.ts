import { expect, test } from 'vitest';
import type { NodeReadiness } from './readiness/tracker.ts';
import { ServiceTally } from './service-tally.ts';

type State = 'ready' | 'not-ready' | 'unknown';

const evaluated = (states: Record<string, State>): NodeReadiness =>
  new Map(Object.entries(states).map(([name, state]) => [name, { state, reason: '', cause: 'agent', sinceMs: 0 }]));

const NONE = { ready: 0, 'not-ready': 0, unknown: 0 };

test('counts the nodes of each service by what it is there', () => {
  const tally = new ServiceTally();
  tally.seen('n1', evaluated({ a: 'ready', b: 'not-ready' }));
  tally.seen('n2', evaluated({ a: 'ready', b: 'unknown' }));
  expect(tally.count('a')).toEqual({ ...NONE, ready: 2 });
  expect(tally.count('b')).toEqual({ ...NONE, 'not-ready': 1, unknown: 1 });
  expect(tally.count('other')).toEqual(NONE);
});

test('counts a node once, however often it is seen, as what it was last', () => {
  const tally = new ServiceTally();
  for (const state of ['ready', 'ready', 'unknown', 'not-ready', 'not-ready'] as const) {
    tally.seen('n', evaluated({ a: state, b: 'ready' }));
    expect(tally.count('a')).toEqual({ ...NONE, [state]: 1 });
    expect(tally.count('b')).toEqual({ ...NONE, ready: 1 });
  }
});

test('counts a service that comes to a node, and not one that goes', () => {
  const tally = new ServiceTally();
  tally.seen('n', evaluated({ a: 'ready' }));
  tally.seen('n', evaluated({ a: 'ready', b: 'unknown' }));
  expect(tally.count('b')).toEqual({ ...NONE, unknown: 1 });
  tally.seen('n', evaluated({ b: 'unknown' }));
  expect([tally.count('a'), tally.count('b')]).toEqual([NONE, { ...NONE, unknown: 1 }]);
  tally.seen('n', evaluated({ c: 'unknown' }));
  expect([tally.count('b'), tally.count('c')]).toEqual([NONE, { ...NONE, unknown: 1 }]);
});

test('does not count a node that is forgotten, and counts it anew when it is back', () => {
  const tally = new ServiceTally();
  for (const name of ['n1', 'n2', 'n3']) tally.seen(name, evaluated({ a: name === 'n3' ? 'unknown' : 'ready' }));
  tally.forget('n1');
  tally.forget('n1');
  expect(tally.count('a')).toEqual({ ...NONE, ready: 1, unknown: 1 });
  tally.forget('n2');
  tally.forget('n3');
  expect(tally.count('a')).toEqual(NONE);
  tally.seen('n1', evaluated({ a: 'ready' }));
  expect(tally.count('a')).toEqual({ ...NONE, ready: 1 });
});
