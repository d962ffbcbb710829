import { expect, it } from 'vitest';
import { ReviewLimit } from './review-limit.ts';

it('lets one token of a pod be reviewed at a time, and one a second', () => {
  const limit = new ReviewLimit(() => 1);
  expect(limit.begin('a', 0)).toBe(true);
  expect(limit.begin('a', 5000)).toBe(false);
  limit.end('a');
  expect(limit.begin('a', 999)).toBe(false);
  expect(limit.begin('a', 5000)).toBe(true);
});

it.each([
  ['a small fleet', 3, 10],
  ['a fleet of 1,000, within 20 s', 1000, 50],
])('lets only a few a second through: %s', (_what, agents, perSecond) => {
  const limit = new ReviewLimit(() => agents);
  let count = 0;
  for (let ms = 0; ms < 10_000; ms += 1) {
    const pod = `${ms}`;
    if (!limit.begin(pod, ms)) continue;
    count += 1;
    limit.end(pod);
  }
  expect(count).toBeGreaterThanOrEqual(10 * perSecond);
  expect(count).toBeLessThanOrEqual(11 * perSecond + 1);
});
