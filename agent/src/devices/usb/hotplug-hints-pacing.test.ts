import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, expect, test } from 'vitest';
import { HintPacing } from './hotplug-hints.ts';

let clock: FakeClock;
let scans: number[];
let pacing: HintPacing;

beforeEach(() => {
  clock = new FakeClock();
  scans = [];
  pacing = new HintPacing(clock, () => scans.push(clock.monotonic()));
});

test('makes of one hint a scan at once and another when the attributes have come', async () => {
  pacing.hint();
  await clock.advance(10_000);
  expect(scans).toEqual([20, 270]);
});

test('makes one of hints that come together', async () => {
  for (const ms of [5, 5, 5]) {
    pacing.hint();
    await clock.advance(ms);
  }
  await clock.advance(10_000);
  expect(scans).toEqual([20, 270]);
});

test('follows a hint that comes after the first scan with two more', async () => {
  pacing.hint();
  await clock.advance(100);
  pacing.hint();
  await clock.advance(10_000);
  expect(scans).toEqual([20, 270, 520]);
});

test('scans four times a second while hints do not stop, and is as quick as ever afterwards', async () => {
  for (let ms = 0; ms < 10_000; ms += 10) {
    pacing.hint();
    await clock.advance(10);
  }
  expect(scans.length).toBe(40);
  await clock.advance(10_000);
  scans = [];
  const startMs = clock.monotonic();
  pacing.hint();
  await clock.advance(1000);
  expect(scans).toEqual([startMs + 20, startMs + 270]);
});

test('scans no more once it is cancelled', async () => {
  pacing.hint();
  pacing.cancel();
  await clock.advance(10_000);
  expect(scans).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});
