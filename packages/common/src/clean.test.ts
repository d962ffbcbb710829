import { expect, test } from 'vitest';
import { clean, cleanDocument, cleanJson } from './clean.ts';

test.each([
  ['\u0000', '\\u{0}'],
  ['\u001f', '\\u{1f}'],
  ['\u007f', '\\u{7f}'],
  ['\u009f', '\\u{9f}'],
  ['\u200b', '\\u{200b}'],
  ['\u2028', '\\u{2028}'],
  ['\u2069', '\\u{2069}'],
  ['\u200d', '\\u{200d}'],
  ['\u061c', '\\u{61c}'],
  ['\u00ad', '\\u{ad}'],
  ['\ufeff', '\\u{feff}'],
  ['\u{e0041}', '\\u{e0041}'],
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

test('a line of JSON means the same and shows everything', () => {
  const value = { 'k\u009b': 'a\u{e0041}\u202e\u007f', n: [1, 'é日🧨 b'] };
  const line = `${JSON.stringify(value)}\n`;
  expect(cleanJson(line)).toBe('{"k\\u009b":"a\\udb40\\udc41\\u202e\\u007f","n":[1,"é日🧨 b"]}\n');
  expect(JSON.parse(cleanJson(line))).toEqual(value);
});
