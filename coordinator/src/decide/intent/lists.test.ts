import { expect, test } from 'vitest';
import { lengthenList, listedOn, listedThere, shortenList } from './lists.ts';

const LIST = 'rollcall.dev/managed-labels';

test('a list is lengthened by keys that it may have already, or begins with them', () => {
  expect(lengthenList('["a","c"]', ['b', 'c'])).toBe('["a","b","c"]');
  expect(lengthenList(undefined, ['b'])).toBe('["b"]');
});

test('a list is shortened, to nothing where nothing is kept', () => {
  expect(shortenList('["a","b"]', (key) => key === 'b')).toBe('["b"]');
  expect(shortenList('["a","b"]', () => false)).toBeUndefined();
});

test('the keys of a list are all that it names, or those of them that are there', () => {
  const node = { annotations: { [LIST]: '["a","b"]' }, labels: { b: '', c: 'x' } };
  expect(listedOn(node, LIST)).toEqual(new Set(['a', 'b']));
  expect(listedThere(node, LIST)).toEqual(new Set(['b']));
  expect(listedOn({ annotations: {} }, LIST)).toEqual(new Set());
});
