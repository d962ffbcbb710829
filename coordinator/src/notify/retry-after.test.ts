import { expect, test } from 'vitest';
import { retryAfterMs } from './retry-after.ts';

const NOW = Date.UTC(2026, 0, 1);

test.each([
  [undefined, 0],
  ['120', 120_000],
  [' 3 ', 3000],
  ['0', 0],
  ['-3', 0],
  ['soon', 0],
  ['86400', 3_600_000],
  ['9'.repeat(400), 3_600_000],
  [new Date(NOW + 2000).toUTCString(), 2000],
  [new Date(NOW - 2000).toUTCString(), 0],
  [new Date(NOW + 86_400_000).toUTCString(), 3_600_000],
])('waits after Retry-After: %s for %d ms', (header, expected) => {
  expect(retryAfterMs(header, NOW)).toBe(expected);
});
