import { expect, test } from 'vitest';
import { planGroups } from './plan-groups.ts';

const change = (key: string, from: string | undefined, to: string | undefined) =>
  ({ kind: 'label', key, from, to, reason: 'r' }) as const;

test('the same change on several nodes is one, and what concerns most of them is first', () => {
  const groups = planGroups([
    { name: 'a', changes: [change('k', undefined, 'true'), change('x', '1', '2')], reasons: {} },
    { name: 'b', changes: [change('k', undefined, 'true'), change('gone', 'v', undefined)], reasons: {} },
  ]);
  expect(groups.map(({ direction, what, nodes }) => [direction, what, nodes.map(({ name }) => name).join()])).toEqual([
    ['add', 'label k = true', 'a,b'],
    ['remove', 'label gone', 'b'],
    ['add', 'label x = 2, now 1', 'a'],
  ]);
});

test('changes of as many nodes are in the order of their words', () => {
  const changes = ['c', 'a', 'b'].map((key) => change(key, undefined, 'x'));
  expect(planGroups([{ name: 'n', changes, reasons: {} }]).map(({ what }) => what)).toEqual([
    'label a = x',
    'label b = x',
    'label c = x',
  ]);
});

test('an empty value is said to be empty where it was, and left out where it comes', () => {
  const changes = [change('a', '', 'x'), change('b', 'x', ''), change('c', undefined, '')];
  expect(planGroups([{ name: 'n', changes, reasons: {} }]).map(({ what }) => what)).toEqual([
    'label a = x, now empty',
    'label b, now x',
    'label c',
  ]);
});

test('a change has the reason of each of its nodes', () => {
  const nodes = ['n', 'm'].map((name) => ({
    name,
    changes: [{ ...change('k', undefined, 'x'), reason: `of ${name}` }],
    reasons: {},
  }));
  expect(planGroups(nodes)[0]?.nodes).toEqual([
    { name: 'n', reason: 'of n' },
    { name: 'm', reason: 'of m' },
  ]);
});
