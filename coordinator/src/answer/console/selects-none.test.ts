import { expect, test } from 'vitest';
import type { LabelSelector } from '../../model/label-selector.ts';
import { whySelectsNone } from './selects-none.ts';

const NODES = [
  { os: 'linux', pool: 'blue' },
  { os: 'linux', pool: 'blue', gpu: 'true' },
  { os: 'windows', pool: 'green' },
];
const term = (key: string, operator: 'Exists' | 'DoesNotExist' | 'NotIn', values?: string[]): LabelSelector => ({
  matchExpressions: [{ key, operator, ...(values ? { values } : {}) }],
});

test.each<[string, LabelSelector, string]>([
  [
    'a value that nodes lack, with those that they have, the nearest first',
    { matchLabels: { os: 'linux', pool: 'gren' } },
    'no node meets pool=gren, the nodes have pool = green, blue',
  ],
  [
    'a key that nodes lack, with the one that may be meant',
    { matchLabels: { pol: 'x' } },
    'no node has the label pol, did you mean pool?',
  ],
  ['a key like none', term('example.com/driver', 'Exists'), 'no node has the label example.com/driver'],
  ['a key that all have', term('os', 'DoesNotExist'), 'no node meets !os, the nodes have os = linux, windows'],
  [
    'values that all have',
    term('os', 'NotIn', ['windows', 'linux']),
    'no node meets os notin (windows,linux), the nodes have os = windows, linux',
  ],
  [
    'terms that no node meets together',
    { matchLabels: { pool: 'green', gpu: 'true' } },
    'each term is met by some node, but no node meets all of them',
  ],
])('why a selector selects no node names %s', (_, selector, why) => {
  expect(whySelectsNone(selector, NODES)).toBe(why);
});

test('few of many values are named', () => {
  const nodes = Array.from({ length: 5000 }, (_, at) => ({ host: `n${at}` }));
  const why = whySelectsNone({ matchLabels: { host: 'n77x' } }, nodes);
  expect(why).toBe('no node meets host=n77x, the nodes have host = n77, n0, n1, n2, n3, …');
});

test('a selector that selects a node has no such reason, and without nodes that is the reason', () => {
  expect(whySelectsNone({ matchLabels: { os: 'linux' } }, NODES)).toBeUndefined();
  expect(whySelectsNone(undefined, NODES)).toBeUndefined();
  expect(whySelectsNone(undefined, [])).toBe('there are no nodes');
});
