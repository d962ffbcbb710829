import { expect, test } from 'vitest';
import { durationMs } from './duration-ms.ts';

test.each([
  ['500ms', 500],
  ['1s', 1000],
  ['1.5s', 1500],
  ['10m', 600_000],
  ['1h30m', 5_400_000],
  ['0s', 0],
  ['2.01s', 2010],
  ['4.1m', 246_000],
  ['10.4ms', 10],
])('%s is %d ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms);
});

test.each(['', '5', '1d', '-1s', '1 s', '1s ', 's', '1.s', '.5s', '1e3s', '1S'])('%j is no duration', (text) => {
  expect(durationMs(text)).toBeUndefined();
});
