import { cutTexts } from '@rollcall/common/status-limits.ts';
import { describe, expect, test } from 'vitest';
import type { ObservedNode } from '../../state/observed-node.ts';
import type { ObservedPoolLabelSet } from '../../state/pool-label-sets.ts';
import { type SetFacts, type Standings, setStatus, tallyOf } from './set-status.ts';

const THEN = '2026-01-01T00:00:00Z';
const NOW = '2026-01-02T00:00:00Z';
const SET: ObservedPoolLabelSet = {
  kind: 'NodePoolLabels',
  uid: 'u',
  name: 'gold',
  namespace: 'rollcall',
  generation: 4,
  createdAt: THEN,
  pool: 'gold',
  labels: {},
  status: undefined,
};

function statusOf(change: Partial<SetFacts> = {}) {
  const base = {
    set: SET,
    overruledBy: undefined,
    refused: [],
    tally: tallyOf([], new Map()),
    previous: undefined,
    now: NOW,
  };
  return setStatus({ ...base, ...change });
}

function condition(type: string, change: Partial<SetFacts> = {}) {
  return statusOf(change).conditions.find((each) => each.type === type);
}

test('nodes that keep the labels although they are in another pool are counted and named', () => {
  const nodesOfOtherPools = ['a', 'b', 'c', 'd'];
  const message =
    '0 of 0 nodes have the labels; 4 more keep them, although another label names another pool for these nodes: a, b, c, …';
  expect(condition('NodesLabelled', { nodesOfOtherPools })).toMatchObject({
    status: 'False',
    reason: 'NodesInOtherPool',
    message,
  });
});

function node(name: string, labels: Record<string, string>, list?: string): ObservedNode {
  const annotations: Record<string, string> =
    list === undefined ? {} : { 'nodepool.banzaicloud.io/managed-labels': list };
  const owned = { labels: new Set<string>(), annotations: new Set<string>() };
  return { name, uid: name, resourceVersion: '1', createdAtMs: 0, labels, annotations, owned, inherited: new Set() };
}

describe('a tally', () => {
  const wanted = new Map([
    ['a', '1'],
    ['b', '2'],
  ]);

  test('tells nodes that have every label from those that wait, and from those where others set another value', () => {
    const nodes = [
      node('whole', { a: '1', b: '2' }),
      node('waiting', { a: '1' }),
      node('edited', { a: '1', b: 'x' }, '["b"]'),
      node('foreign', { a: '1', b: 'x' }, '["a"]'),
      node('unreadable', { a: 'x', b: 'x' }, '["a"'),
    ];
    expect(tallyOf(nodes, wanted)).toEqual({
      matched: 5,
      labelled: 1,
      conflicts: [
        { node: 'foreign', key: 'b' },
        { node: 'unreadable', key: 'a' },
      ],
    });
    expect(tallyOf([], new Map())).toEqual({ matched: 0, labelled: 0, conflicts: [] });
  });
});

test('of a node that did not change, nothing is looked at again', () => {
  const seen = node('n', { a: '1' });
  let looks = 0;
  const watched = Object.defineProperty({ ...seen }, 'labels', {
    get: () => {
      looks += 1;
      return seen.labels;
    },
  });
  const known: Standings = new WeakMap();
  const wanted = new Map([['a', '1']]);
  const first = tallyOf([watched], wanted, known);
  const looksThen = looks;
  expect(looksThen).toBeGreaterThan(0);
  expect(tallyOf([watched], wanted, known)).toEqual(first);
  expect(looks).toBe(looksThen);
  expect(tallyOf([watched], new Map([['a', '2']]), known)).toMatchObject({ conflicts: [{ node: 'n', key: 'a' }] });
  expect(tallyOf([node('n', {})], wanted, known)).toMatchObject({ labelled: 0, conflicts: [] });
});

describe('the condition NodesLabelled', () => {
  test.each([
    [{ matched: 0, labelled: 0, conflicts: [] }, 'Unknown', 'NoNodes', 'No node is in the pool gold'],
    [{ matched: 3, labelled: 3, conflicts: [] }, 'True', 'AllLabelled', '3 of 3 nodes have the labels'],
    [{ matched: 3, labelled: 2, conflicts: [] }, 'False', 'Labelling', '2 of 3 nodes have the labels'],
    [
      { matched: 6, labelled: 2, conflicts: ['w', 'x', 'y', 'z'].map((name) => ({ node: name, key: 'a' })) },
      'False',
      'Conflict',
      '2 of 6 nodes have the labels; others have set another value of a on w, a on x, a on y',
    ],
  ])('of %j is %s', (tally, status, reason, message) => {
    expect(condition('NodesLabelled', { tally })).toMatchObject({ status, reason, message });
    expect(condition('Ready', { tally })).toMatchObject({ status: 'True', reason: 'InForce' });
    expect(condition('Stalled', { tally })).toBeUndefined();
  });
});

describe('a set with refused keys is not in force, and nothing says that nodes have its labels', () => {
  const refused = [
    { key: 'a', reason: 'belongs to the NodeService x' },
    { key: 'b', reason: 'is bad' },
  ];
  const tally = { matched: 2, labelled: 2, conflicts: [] };

  test('where it sets none', () => {
    const facts = { set: { ...SET, labels: { a: '1', b: '1' } }, refused, tally };
    const message = 'It sets no labels: a belongs to the NodeService x (and 1 more)';
    expect(condition('Ready', facts)).toMatchObject({ status: 'False', reason: 'KeysRefused', message });
    expect(condition('NodesLabelled', facts)).toMatchObject({
      status: 'Unknown',
      reason: 'NotInForce',
      message: `Not in force: ${message}`,
    });
    expect(statusOf(facts)).toMatchObject({ nodesMatched: 2, nodesLabelled: 0 });
  });

  test('where it sets others', () => {
    const facts = { set: { ...SET, labels: { a: '1', b: '1', c: '1' } }, refused, tally };
    const message = '2 of 2 nodes have the other labels';
    expect(condition('Ready', facts)).toMatchObject({ status: 'False', reason: 'KeysRefused' });
    expect(condition('NodesLabelled', facts)).toMatchObject({ status: 'True', reason: 'AllLabelled', message });
    expect(statusOf(facts)).toMatchObject({ nodesMatched: 2, nodesLabelled: 2 });
    const conflicts = [{ node: 'w', key: 'c' }];
    expect(condition('NodesLabelled', { ...facts, tally: { matched: 2, labelled: 1, conflicts } })).toMatchObject({
      reason: 'Conflict',
      message: '1 of 2 nodes have the other labels; others have set another value of c on w',
    });
  });
});

describe('the condition Ready', () => {
  test('names the first refused key and counts the others', () => {
    const refused = [
      { key: 'a*', reason: 'is bad' },
      { key: 'b*', reason: 'is bad' },
    ];
    expect(condition('Ready', { refused })).toMatchObject({
      status: 'False',
      reason: 'KeysRefused',
      message: 'a* is bad (and 1 more)',
    });
    expect(condition('Ready')).toMatchObject({ status: 'True', reason: 'InForce' });
  });

  test('names the set that counts instead', () => {
    const overruledBy = { ...SET, name: 'silver' };
    const message = 'The pool gold already has the NodePoolLabels silver, which is older';
    expect(condition('Ready', { overruledBy })).toMatchObject({ status: 'False', reason: 'PoolTaken', message });
    expect(condition('Stalled', { overruledBy })).toMatchObject({ status: 'True', reason: 'PoolTaken', message });
    expect(condition('NodesLabelled', { overruledBy })).toMatchObject({ status: 'Unknown', reason: 'NotInForce' });
  });
});

describe('the time of a condition', () => {
  const previous = statusOf({ now: THEN, tally: { matched: 2, labelled: 2, conflicts: [] } });
  test('stays while its status does, whatever else changes', () => {
    const set = { ...SET, generation: 5 };
    const later = statusOf({ set, previous, tally: { matched: 3, labelled: 3, conflicts: [] } });
    expect(later.conditions.map((each) => each.lastTransitionTime)).toEqual([THEN, THEN]);
    expect(later.conditions.map((each) => each.observedGeneration)).toEqual([5, 5]);
  });

  test.each([
    null,
    'x',
    { conditions: null },
    { conditions: 'x' },
    { conditions: [null, 1, { type: 'Ready', status: 'True', lastTransitionTime: 7 }] },
  ])('is now where another client wrote %j there', (odd) => {
    const { conditions } = statusOf({ previous: odd });
    expect(conditions.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([NOW, NOW]);
  });

  test('is now when its status changes, for that condition alone', () => {
    const later = statusOf({ previous, tally: { matched: 2, labelled: 1, conflicts: [] } });
    expect(later.conditions.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([THEN, NOW]);
  });
});

test('refused keys are bounded in number and length', () => {
  const refused = Array.from({ length: 100 }, (_, index) => ({
    key: `${index}-${'x'.repeat(5000)}`,
    reason: 'is bad',
  }));
  const status = cutTexts(statusOf({ refused }));
  expect(status.refusedKeys).toHaveLength(20);
  expect(status.refusedKeys[0]).toEqual({ key: `0-${'x'.repeat(314)}…`, reason: 'is bad' });
  expect(JSON.stringify(status).length).toBeLessThan(8500);
  expect(condition('Ready', { refused })?.message).toContain('(and 99 more)');
});
