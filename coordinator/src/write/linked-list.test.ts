import { expect, test } from 'vitest';
import { LinkedList } from './linked-list.ts';

function drained(list: LinkedList<string>): string[] {
  const taken: string[] = [];
  for (let value = list.shift(); value !== undefined; value = list.shift()) taken.push(value);
  return taken;
}

test('what comes first goes first, and the size is how many are in it', () => {
  const list = new LinkedList<string>();
  for (const value of ['a', 'b', 'c']) list.push(value);
  expect(list.size).toBe(3);
  expect(drained(list)).toEqual(['a', 'b', 'c']);
  expect(list.size).toBe(0);
  expect(list.shift()).toBeUndefined();
});

test.each([
  { at: 0, left: ['b', 'c', 'd'] },
  { at: 1, left: ['a', 'c', 'd'] },
  { at: 2, left: ['a', 'b', 'd'] },
])('one that is removed at place $at leaves the others in order, and room behind them', ({ at, left }) => {
  const list = new LinkedList<string>();
  const nodes = ['a', 'b', 'c'].map((value) => list.push(value));
  const node = nodes[at];
  if (node) list.remove(node);
  list.push('d');
  expect(list.size).toBe(3);
  expect(drained(list)).toEqual(left);
});

test('a list that was cleared is empty, and takes what comes then', () => {
  const list = new LinkedList<string>();
  for (const value of ['a', 'b']) list.push(value);
  list.clear();
  expect([list.size, list.shift()]).toEqual([0, undefined]);
  list.push('c');
  expect(list.size).toBe(1);
  expect(drained(list)).toEqual(['c']);
});
