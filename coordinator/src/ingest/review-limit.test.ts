import { expect, it } from 'vitest';
import { ReviewLimit } from './bearer-auth.ts';

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

it('lets a pod ask again exactly a second after it began, and not before it has ended', () => {
  const limit = new ReviewLimit(() => 1);
  expect(limit.begin('a', 5000)).toBe(true);
  limit.end('a');
  expect([limit.begin('a', 5999), limit.begin('a', 6000)]).toEqual([false, true]);
  expect(limit.begin('a', 9000)).toBe(false);
});

it('remembers a pod for its second, however many others come', () => {
  const limit = new ReviewLimit(() => 100_000);
  for (let index = 0; index < 10; index += 1) {
    expect(limit.begin(`pod-${index}`, index * 200)).toBe(true);
    limit.end(`pod-${index}`);
  }
  expect(limit.begin('pod-6', 2000)).toBe(false);
  expect(limit.begin('pod-5', 2000)).toBe(true);
});

it('lets ten begin at once after a pause, and no more', () => {
  const limit = new ReviewLimit(() => 1);
  const begun = (nowMs: number) => Array.from({ length: 20 }, (_, index) => limit.begin(`${nowMs} ${index}`, nowMs));
  expect(begun(0).filter(Boolean)).toHaveLength(10);
  expect(begun(100).filter(Boolean)).toHaveLength(1);
  expect(begun(60_000).filter(Boolean)).toHaveLength(10);
});
