import { expect, test } from 'vitest';
import { heartbeatSeconds } from './report-pacing.ts';

test.each([
  ['a small fleet', 3, 30, 10],
  ['a fleet as large as ten seconds can take', 50_000, 60, 10],
  ['a larger fleet, by its size', 100_000, 60, 20],
  ['a fleet of any size, so that one report may be lost within the window', 1_000_000, 60, 27],
  ['a small fleet with a short window, so that two may', 3, 6, 2],
])('%s (%i nodes, %i s) reports every %d s', (_what, nodes, windowSeconds, expected) => {
  expect(heartbeatSeconds(nodes, windowSeconds)).toBeCloseTo(expected);
});
