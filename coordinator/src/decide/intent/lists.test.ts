import { expect, test } from 'vitest';
import { lengthenList, listedOn, shortenList, withoutTaints } from './lists.ts';

const LIST = 'nodepool.banzaicloud.io/managed-labels';
const KEYS = 'rollcall.dev/keys';
const NOTHING = { annotations: {} };

test('a list is lengthened by labels that it may have already, or begins with them', () => {
  expect(lengthenList(LIST, '["a","c"]', ['b', 'c'], NOTHING)).toBe('["a","b","c"]');
  expect(lengthenList(LIST, undefined, ['b'], NOTHING)).toBe('["b"]');
});

test('a list is shortened, to nothing where nothing is kept', () => {
  expect(shortenList(LIST, '["a","b"]', (key) => key === 'b')).toBe('["b"]');
  expect(shortenList(LIST, '["a","b"]', () => false)).toBeUndefined();
});

test('the list of keys is lengthened with the origins on the Node, and shortened by labels alone', () => {
  const seen = { annotations: { [KEYS]: '{"label:a":"rule","label:b":"device","taint:b":"gitpod"}' } };
  expect(lengthenList(KEYS, '{"taint:b":"gitpod"}', ['a', 'unlisted'], seen)).toBe(
    '{"label:a":"rule","taint:b":"gitpod"}',
  );
  expect(shortenList(KEYS, seen.annotations[KEYS] ?? '', () => false)).toBe('{"taint:b":"gitpod"}');
  expect(listedOn(seen, KEYS)).toEqual(new Set(['a', 'b']));
});

test('the labels of a list are all that it names', () => {
  expect(listedOn({ annotations: { [LIST]: '["a","b"]' } }, LIST)).toEqual(new Set(['a', 'b']));
  expect(listedOn(NOTHING, LIST)).toEqual(new Set());
});

test('a taint that is not written now stays listed, or unlisted, as it was', () => {
  const change = { before: '{"taint:a":"service:u","taint:b":"service:w"}', after: '{"taint:c":"gitpod"}' };
  expect(withoutTaints(change, ['a'])?.after).toBe('{"taint:a":"service:u","taint:c":"gitpod"}');
  expect(withoutTaints(change, ['a', 'b', 'c'])).toBeUndefined();
  expect(withoutTaints({ before: change.before, after: undefined }, ['a'])?.after).toBe('{"taint:a":"service:u"}');
});
