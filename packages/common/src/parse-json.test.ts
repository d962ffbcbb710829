import { expect, test } from 'vitest';
import { JSON_DEPTH_MAX, parseJson } from './parse-json.ts';

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test('JSON as deep as the limit is parsed, and a level more is refused', () => {
  expect(JSON.stringify(parseJson(nested(JSON_DEPTH_MAX)))).toBe(nested(JSON_DEPTH_MAX));
  expect(() => parseJson(nested(JSON_DEPTH_MAX + 1))).toThrow(RangeError);
});

test('JSON nested 100,000 deep is refused without an overflow of the stack, in objects as well', () => {
  expect(() => parseJson(nested(100_000))).toThrow(/more than 32 levels deep/);
  expect(() => parseJson(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)).toThrow(/more than 32 levels deep/);
});

test('width is no depth', () => {
  expect(parseJson(`[${'[[]],'.repeat(10_000)}0]`)).toHaveLength(10_001);
});

test('what is not JSON is a SyntaxError', () => {
  expect(() => parseJson('{"a":')).toThrow(SyntaxError);
});
