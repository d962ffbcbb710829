import { expect, test } from 'vitest';
import { clean, cleanDocument } from './clean.ts';

test.each([
  ['\u0000', '\\u{0}'],
  ['\u001f', '\\u{1f}'],
  ['\u007f', '\\u{7f}'],
  ['\u009f', '\\u{9f}'],
  ['\u200b', '\\u{200b}'],
  ['\u2028', '\\u{2028}'],
  ['\u2069', '\\u{2069}'],
  ['\ufeff', '\\u{feff}'],
])('a character that is not seen is spelled out: %j', (char, spelled) => {
  expect(clean(`a${char}b`)).toBe(`a${spelled}b`);
});

test('a document keeps its shape, and what is no text stays as it is', () => {
  const document = { list: [1, true, null, undefined], nested: { text: 'x', none: null } };
  expect(cleanDocument(document)).toEqual(document);
  expect(cleanDocument(null)).toBeNull();
  expect(cleanDocument(undefined)).toBeUndefined();
  expect(cleanDocument(3)).toBe(3);
  expect(cleanDocument('\u0007')).toBe('\\u{7}');
});
