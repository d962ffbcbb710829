import { expect, test } from 'vitest';
import { parseDuration } from './parse-duration.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

test.each([
  ['2h', 2 * HOUR],
  ['3m', 3 * MINUTE],
  ['7s', 7 * SECOND],
  ['7', 7 * SECOND],
  ['1ms', 1],
  ['0', 0],
  ['2d', undefined],
  ['-1s', undefined],
  ['1h30m', HOUR + 30 * MINUTE],
  ['1h30', undefined],
  ['', undefined],
])('%s is read as %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});
