import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { FailedTogether } from './failed-together.ts';

function started(...failed: string[]) {
  const clock = new FakeClock();
  const hastened: string[] = [];
  const together = new FailedTogether({ clock, hasten: (name) => hastened.push(name) });
  for (const name of failed) together.failed(name);
  return { clock, hastened, together };
}

test('one node is tried each second, in turn, also where the one before was not tried again', async () => {
  const { clock, hastened } = started('a', 'b', 'c');
  await clock.advance(999);
  expect(hastened).toEqual([]);
  await clock.advance(1);
  expect(hastened).toEqual(['a']);
  await clock.advance(3000);
  expect(hastened).toEqual(['a', 'b', 'c', 'a']);
});

test('a node that fails again goes behind the others', async () => {
  const { clock, hastened, together } = started('a', 'b');
  together.failed('a');
  await clock.advance(1000);
  expect(hastened).toEqual(['b']);
});

test('all go on when a write to one of them gets through, and none is tried out of turn any more', async () => {
  const { clock, hastened, together } = started('a', 'b');
  together.succeeded('other');
  expect(hastened).toEqual([]);
  together.succeeded('a');
  expect(hastened).toEqual(['a', 'b']);
  expect(clock.pendingTimers).toBe(0);
  together.succeeded('b');
  expect(hastened).toEqual(['a', 'b']);
});

test('nodes are tried out of turn in the next outage as well', async () => {
  const { clock, hastened, together } = started('a');
  together.succeeded('a');
  hastened.length = 0;
  together.failed('b');
  await clock.advance(1000);
  expect(hastened).toEqual(['b']);
});

test('a node with nothing to write is not tried any more, and with the last one the trials end', async () => {
  const { clock, hastened, together } = started('a', 'b');
  together.forget('a');
  await clock.advance(1000);
  expect(hastened).toEqual(['b']);
  together.forget('b');
  expect(clock.pendingTimers).toBe(0);
});

test('the more nodes fail, the longer each waits', () => {
  const { together } = started();
  expect(together.failed('a')).toBe(20);
  expect(together.failed('b')).toBe(40);
  expect(together.failed('a')).toBe(40);
});
