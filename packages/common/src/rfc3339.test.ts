import { expect, test } from 'vitest';
import { rfc3339 } from './rfc3339.ts';

test('a moment is written in UTC, in whole seconds', () => {
  expect(rfc3339(Date.UTC(2026, 1, 3, 4, 5, 6, 789))).toBe('2026-02-03T04:05:06Z');
});
