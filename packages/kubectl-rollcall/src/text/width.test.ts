import { expect, test } from 'vitest';
import { padEnd, padStart, shortened, widthOf, wrapped } from './width.ts';

test('a wide character takes two columns, and a combining one none', () => {
  expect([widthOf('日本'), widthOf('e\u0301'), widthOf('a b~')]).toEqual([4, 1, 4]);
});

test('text is padded by what it takes in the terminal, and never cut', () => {
  expect([padEnd('日', 4), padStart('日', 4), padEnd('abc', 2), padStart('abc', 2)]).toEqual([
    '日  ',
    '  日',
    'abc',
    'abc',
  ]);
});

test('text that fits exactly is not shortened', () => {
  expect(shortened('abcdef', 6)).toBe('abcdef');
});

test.each([
  [5, 'ab…ef'],
  [4, 'ab…f'],
  [3, 'a…f'],
  [2, 'a…'],
  [1, '…'],
  [0, ''],
])('text in %d columns has its two ends, the first being the longer', (columns, text) => {
  expect(shortened('abcdef', columns)).toBe(text);
});

test('a wide character that does not fit any more is left out whole', () => {
  expect(shortened('日本語日本語', 6)).toBe('日…語');
});

test('text is broken at the last space that fits', () => {
  expect(wrapped('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrapped('one two three', 6)).toEqual(['one', 'two', 'three']);
});

test('a word that is too long has a line of its own', () => {
  expect(wrapped('a incomprehensibilities b', 5)).toEqual(['a', 'incomprehensibilities', 'b']);
});

test('no text is one empty line', () => {
  expect(wrapped('', 5)).toEqual(['']);
});
