import { expect, test } from 'vitest';
import { components } from './rule-graph.ts';

test('nodes that lead back to each other are a group, in ascending order', () => {
  expect(components([[2], [0], [1], [3], []])).toEqual([[4], [3], [0, 1, 2]]);
});

test('a group comes after all that lead to it', () => {
  const edges = [[], [0], [1, 3], [2, 4], [0]];
  const groups = components(edges);
  const placeOf = (node: number) => groups.findIndex((group) => group.includes(node));
  expect(groups.map((group) => group.join())).toContain('2,3');
  for (const [from, targets] of edges.entries()) {
    for (const to of targets) expect(placeOf(from)).toBeLessThanOrEqual(placeOf(to));
  }
});

test('two circles that only one way joins are two groups', () => {
  const edges = [[1], [0, 2], [3], [2]];
  expect(components(edges)).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

test('a node that is reached on two ways is in one group alone', () => {
  expect(components([[1, 2], [3], [3], []])).toEqual([[0], [2], [1], [3]]);
  expect(components([[2], [2], []])).toEqual([[1], [0], [2]]);
});

test('a circle within a circle, and a way back over several, are one group', () => {
  expect(components([[1], [2, 0], [3], [4], [1]])).toEqual([[0, 1, 2, 3, 4]]);
  expect(components([[1], [2], [3, 1], [0]])).toEqual([[0, 1, 2, 3]]);
});

test('where there is nothing there are no groups', () => {
  expect(components([])).toEqual([]);
  expect(components([[0]])).toEqual([[0]]);
});
