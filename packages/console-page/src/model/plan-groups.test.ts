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
