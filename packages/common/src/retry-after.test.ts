import { expect, test } from 'vitest';
import { retryAfterMs } from './retry-after.ts';

const NOW = Date.UTC(2026, 0, 1);

test.each([
  [undefined, 60_000, 0],
  ['3', 60_000, 3000],
  [' 3 ', 60_000, 3000],
  ['0', 60_000, 0],
  ['86400', 60_000, 60_000],
  ['-3', 60_000, 0],
  ['soon', 60_000, 0],
  [new Date(NOW + 2000).toUTCString(), 60_000, 2000],
  [new Date(NOW - 2000).toUTCString(), 60_000, 0],
  [new Date(NOW + 3_600_000).toUTCString(), 60_000, 60_000],
  ['120', 3_600_000, 120_000],
  ['86400', 3_600_000, 3_600_000],
  ['9'.repeat(400), 3_600_000, 3_600_000],
  [new Date(NOW + 86_400_000).toUTCString(), 3_600_000, 3_600_000],
])('waits after Retry-After: %s, at most %d ms, for %d ms', (header, maxMs, expected) => {
  expect(retryAfterMs(header, NOW, maxMs)).toBe(expected);
});
