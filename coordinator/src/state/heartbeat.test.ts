import { expect, test } from 'vitest';
import { heartbeatSeconds } from './report-pacing.ts';

test.each([
  ['a small fleet', 3, 30, 2],
  ['a fleet of 200', 200, 30, 2],
  ['a larger fleet, by its size', 1000, 30, 10],
  ['a fleet of any size, so that one report may be lost within the window', 65_000, 30, 13.5],
  ['a small fleet with a short window, likewise', 3, 2, 0.9],
])('%s (%i nodes, %i s) reports every %d s', (_what, nodes, windowSeconds, expected) => {
  expect(heartbeatSeconds(nodes, windowSeconds)).toBeCloseTo(expected);
});
