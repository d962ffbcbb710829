import { expect, test } from 'vitest';
import { objectIn, parseAnnotation, sortedObject, textsIn } from './json-annotation.ts';

test.each([undefined, '', '{', 'null', '7', '"a"', '["a"]', '[{"a":"b"}]'])('%j has no entries', (text) => {
  expect([objectIn(parseAnnotation(text)), textsIn(parseAnnotation(text))]).toEqual([{}, []]);
});

test('entries that are no texts are left out', () => {
  const value = parseAnnotation('{"a":"1","b":2,"c":null,"d":["e"],"__proto__":"f"}');
  expect(textsIn(value)).toEqual([
    ['a', '1'],
    ['__proto__', 'f'],
  ]);
  expect(objectIn(value)).toBe(value);
});

test('entries are the same text in whatever order they come', () => {
  const entries = [
    ['b', '1'],
    ['a', '2'],
  ] as const;
  for (const order of [entries, entries.toReversed()]) {
    expect(JSON.stringify(sortedObject(order))).toBe('{"a":"2","b":"1"}');
  }
});
