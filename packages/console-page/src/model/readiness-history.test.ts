import { expect, test } from 'vitest';
import { noCounts } from './node-state.ts';
import { ReadinessHistory } from './readiness-history.ts';

const counts = (ready: number, down: number) => ({ ...noCounts(), ready, 'not-ready': down });
const MINUTE = 60_000;

test('the worst of five seconds is kept', () => {
  const history = new ReadinessHistory();
  history.add(0, counts(3, 0));
  history.add(1000, counts(1, 2));
  history.add(2000, counts(3, 0));
  history.add(6000, counts(3, 0));
  expect(history.samples.map(({ atMs, counts }) => [atMs, counts?.['not-ready']])).toEqual([
    [0, 2],
    [6000, 0],
  ]);
});

test('what is kept does not change with the counts of the fleet', () => {
  const history = new ReadinessHistory();
  const live = counts(3, 0);
  history.add(0, live);
  live['not-ready'] = 3;
  expect(history.samples[0]?.counts?.['not-ready']).toBe(0);
});

test('time without a connection is a gap, not the last that was known', () => {
  const history = new ReadinessHistory();
  history.add(0, null);
  history.add(1000, counts(1, 0));
  history.add(2000, null);
  history.add(9000, null);
  history.add(10_000, counts(1, 0));
  expect(history.samples.map(({ atMs, counts }) => [atMs, counts === null])).toEqual([
    [1000, false],
    [2000, true],
    [10_000, false],
  ]);
});

test('an hour is kept, and what held when it began', () => {
  const history = new ReadinessHistory();
  for (let minute = 0; minute <= 180; minute += 1) history.add(minute * MINUTE, counts(1, 0));
  expect(history.samples).toHaveLength(62);
  expect(history.samples[0]?.atMs).toBe(119 * MINUTE);
});

test('after five seconds there is a new sample', () => {
  const history = new ReadinessHistory();
  for (const atMs of [0, 4999, 5000, 9999, 10_000]) history.add(atMs, counts(1, 0));
  expect(history.samples.map(({ atMs }) => atMs)).toEqual([0, 5000, 10_000]);
});

test('of two that are as bad the later is kept', () => {
  const history = new ReadinessHistory();
  history.add(0, counts(3, 1));
  history.add(1000, counts(5, 1));
  expect(history.samples[0]?.counts?.ready).toBe(5);
});

test('what is kept of the worst does not change with the counts of the fleet', () => {
  const history = new ReadinessHistory();
  const live = counts(3, 1);
  history.add(0, counts(4, 0));
  history.add(1000, live);
  live['not-ready'] = 3;
  expect(history.samples[0]?.counts?.['not-ready']).toBe(1);
});

test('what is exactly an hour old is kept, and one before it', () => {
  const history = new ReadinessHistory();
  for (const minute of [0, 1, 2, 61, 62]) history.add(minute * MINUTE, counts(1, 0));
  expect(history.samples.map(({ atMs }) => atMs / MINUTE)).toEqual([1, 2, 61, 62]);
});
