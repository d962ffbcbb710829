import { beforeEach, expect, test } from 'vitest';
import { gathered } from './gathered.ts';
import { FakeClock } from './testing/fake-clock.ts';

let clock: FakeClock;
let done: number[];
let call: () => void;

beforeEach(() => {
  clock = new FakeClock();
  done = [];
  call = gathered(clock, 100, () => done.push(clock.monotonic()));
});

test('calls that follow each other are one piece of work, so long after the first', async () => {
  call();
  await clock.advance(60);
  call();
  await clock.advance(39);
  expect(done).toEqual([]);
  await clock.advance(1);
  expect(done).toEqual([100]);
  await clock.advance(1000);
  expect(done).toEqual([100]);
});

test('a call after the work is done begins anew', async () => {
  call();
  await clock.advance(100);
  call();
  await clock.advance(100);
  expect(done).toEqual([100, 200]);
});

test('a call out of the work itself is not lost', async () => {
  const again = gathered(clock, 100, () => {
    done.push(clock.monotonic());
    if (done.length === 1) again();
  });
  again();
  await clock.advance(200);
  expect(done).toEqual([100, 200]);
});
