import { expect, test } from 'vitest';
import { ago, duration } from './duration.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

test.each([
  [-5 * SECOND, '0s'],
  [1999, '1s'],
  [2 * MINUTE - 1, '119s'],
  [2 * MINUTE, '2m'],
  [2 * HOUR - 1, '119m'],
  [2 * HOUR, '2h'],
  [48 * HOUR - 1, '47h'],
  [48 * HOUR, '2d'],
  [72 * HOUR - 1, '2d'],
])('a span of %d ms is written as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('how long ago a time was is counted from the time that is given as now', () => {
  expect(ago('2026-03-01T11:59:20Z', '2026-03-01T12:00:00Z')).toBe('40s ago');
});
