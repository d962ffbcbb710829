import { describe, expect, test } from 'vitest';
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

describe('the commonest reason', () => {
  const because = (...reasons: readonly string[]): NodeReadiness =>
    new Map(reasons.map((reason, index) => [`s${index}`, { state: 'not-ready', reason, cause: 'agent', sinceMs: 0 }]));
  const down = 'no pod matches app=x in kube-sytem';

  test('is that of most nodes, with one of them as an example', () => {
    const tally = new ServiceTally();
    tally.seen('n1', because('tcp 10.0.0.1:80 refused the connection'));
    for (const node of ['n2', 'n3', 'n4']) tally.seen(node, because(down));
    tally.seen('n5', evaluated({ s0: 'ready' }));
    expect(tally.commonest('s0')).toEqual({ state: 'not-ready', reason: down, nodes: 3, example: 'n2' });
    expect(tally.commonest('other')).toBeUndefined();
  });

  test('is one reason where only names, addresses and figures differ, in the words of the example', () => {
    const tally = new ServiceTally();
    tally.seen('n1', because('pod a/x-1 is not Ready'));
    tally.seen('n2', because('pod a/x-2 is not Ready'));
    expect(tally.commonest('s0')).toMatchObject({ reason: 'pod a/x-1 is not Ready', nodes: 2, example: 'n1' });
    tally.seen('n1', because('pod a/x-3 is not Ready'));
    expect(tally.commonest('s0')?.reason).toBe('pod a/x-3 is not Ready');
    tally.forget('n1');
    expect(tally.commonest('s0')).toMatchObject({ reason: 'pod a/x-2 is not Ready', nodes: 1, example: 'n2' });
  });

  test('is that of nodes where it is not ready, however many do not know', () => {
    const tally = new ServiceTally();
    for (const node of ['n1', 'n2']) tally.seen(node, evaluated({ s0: 'unknown' }));
    expect(tally.commonest('s0')).toMatchObject({ state: 'unknown', nodes: 2 });
    tally.seen('n3', because(down));
    expect(tally.commonest('s0')).toMatchObject({ state: 'not-ready', nodes: 1, example: 'n3' });
  });

  test('keeps its example while another service of that node changes', () => {
    const tally = new ServiceTally();
    tally.seen('n1', because(down, 'a'));
    tally.seen('n2', because(down, 'a'));
    tally.seen('n1', because(down, 'b'));
    expect(tally.commonest('s0')).toMatchObject({ nodes: 2, example: 'n1' });
    expect(tally.commonest('s1')).toMatchObject({ nodes: 1 });
  });

  test('is gone with the last node that has it', () => {
    const tally = new ServiceTally();
    tally.seen('n1', because(down));
    tally.seen('n1', evaluated({ s0: 'ready' }));
    expect(tally.commonest('s0')).toBeUndefined();
    expect(tally.count('s0')).toEqual({ ...NONE, ready: 1 });
  });
});
