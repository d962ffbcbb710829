import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import { ContestedKeys } from './contested-keys.ts';
import type { SeenNode } from './unwritable-keys.ts';

const node = { name: 'n', uid: 'u' };
const label = { kind: 'label', key: 'k' } as const;

function started() {
  const clock = new FakeClock();
  const contested = new ContestedKeys(clock);
  const write = (wanted: string | undefined = 'v', more: { held?: boolean; keepsAway?: boolean } = {}) =>
    contested.wrote(node, [{ ...label, wanted, held: true, keepsAway: false, ...more }]);
  const mustWait = (wanted: string | undefined = 'v') => {
    const before = contested.mustWait(node, label, wanted);
    expect(contested.found(node, label, wanted)).toBe(before);
    return before;
  };
  return { clock, contested, write, mustWait };
}

/** When a key is written that a rival changes back at once, in milliseconds. */
async function fight(forMs: number, keepsAway: boolean): Promise<number[]> {
  const { clock, write, mustWait } = started();
  const beganMs = clock.monotonic();
  const writes: number[] = [];
  while (clock.monotonic() - beganMs < forMs) {
    if (!mustWait()) {
      write('v', { keepsAway });
      writes.push(clock.monotonic() - beganMs);
    }
    await clock.advance(10);
  }
  return writes;
}

describe('a key that is changed back at once', () => {
  test('is put right three times, and then later and later', async () => {
    const writes = await fight(3_600_000, false);
    const gaps = writes.slice(1).map((ms, index) => ms - (writes[index] ?? 0));
    const seconds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300];
    expect(gaps.slice(0, 14)).toEqual([10, 10, 10, ...seconds.map((each) => each * 1000)]);
    expect(gaps.slice(14).every((ms) => ms === 300_000)).toBe(true);
  }, 120_000);

  test('is tried at least every 10 s where that keeps pods away', async () => {
    const writes = await fight(600_000, true);
    const gaps = writes.slice(1).map((ms, index) => ms - (writes[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(10_000);
    expect(writes.length).toBeLessThan(600 / 8 + 8);
  });

  test('is written at once where something else is wanted', () => {
    const { write, mustWait } = started();
    for (let count = 0; count < 5; count += 1) write();
    expect(mustWait()).toBe(true);
    expect(mustWait('other')).toBe(false);
    // No other client has changed the earlier value since another value was wanted.
    expect(mustWait()).toBe(false);
    write('other');
    expect(mustWait('other')).toBe(false);
  });

  test('is another on a Node that was made anew', () => {
    const { contested, write, mustWait } = started();
    for (let count = 0; count < 5; count += 1) write();
    expect(mustWait()).toBe(true);
    expect(contested.mustWait({ name: 'n', uid: 'another' }, label, 'v')).toBe(false);
    contested.wrote({ name: 'n', uid: 'another' }, [{ ...label, wanted: 'v', held: true, keepsAway: false }]);
    expect(contested.remembered).toBe(1);
  });
});

test('a key that is changed back three times in a minute now and then is no contest', async () => {
  const { clock, contested, write, mustWait } = started();
  for (let count = 0; count < 20; count += 1) {
    expect(mustWait()).toBe(false);
    write();
    await clock.advance(20_000);
  }
  expect(contested.size).toBe(0);
});

test('a key that the answer does not show as it was written is contested at once, by admission', async () => {
  const { clock, contested, write, mustWait } = started();
  await clock.advance(60_000);
  write('v', { held: false });
  await clock.advance(400);
  expect(contested.size).toBe(1);
  expect(mustWait()).toBe(true);
  expect(contested.news('n')).toMatchObject([{ ref: label, isAdmission: true }]);
  expect(contested.news('n')).toEqual([]);
  expect(contested.keysFor('n')).toMatchObject([{ ...label, wanted: 'v', nextTryMs: 600 }]);
  expect(contested.keysFor('n')[0]?.rival).toContain('webhook');
});

test('a contest ends when the key has stayed for a minute', async () => {
  const { clock, contested, write, mustWait } = started();
  for (let count = 0; count < 4; count += 1) write();
  expect(mustWait()).toBe(true);
  expect(contested.dueInMs('n')).toBe(1000);
  await clock.advance(1000);
  write();
  expect(contested.dueInMs('n')).toBe(60_000);
  await clock.advance(60_000);
  expect(contested.dueInMs('n')).toBeUndefined();
  expect(contested.size).toBe(0);
  expect(mustWait()).toBe(false);
});

test('a contested key that is no longer wanted when it is due is forgotten', async () => {
  const { clock, contested, write } = started();
  write('v', { held: false });
  await clock.advance(1000);
  // It may have become due just now, after the plan was made.
  expect(contested.dueInMs('n')).toBe(50);
  expect(contested.size).toBe(1);
  await clock.advance(1000);
  expect(contested.dueInMs('n')).toBeUndefined();
  expect(contested.size).toBe(0);
});

test('a key that is let go of and wanted again is no contest', () => {
  const { contested, write, mustWait } = started();
  for (let count = 0; count < 20; count += 1) {
    expect(mustWait()).toBe(false);
    write();
    contested.released('n', label);
  }
  expect(contested.size).toBe(0);
});

test('what was written is forgotten after a while, and only so much is remembered', async () => {
  const { clock, contested, write, mustWait } = started();
  const many = Array.from({ length: 70_000 }, (_, index) => ({
    kind: 'label' as const,
    key: `k${index}`,
    wanted: 'v',
    held: false,
    keepsAway: false,
  }));
  contested.wrote({ name: 'many', uid: 'many' }, many);
  expect(contested.size).toBe(65_536);
  contested.forget('many');
  expect(contested.size).toBe(0);
  for (let count = 0; count < 3; count += 1) write();
  await clock.advance(60_000);
  contested.wrote({ name: 'other', uid: 'other' }, []);
  for (let count = 0; count < 3; count += 1) write();
  expect(mustWait()).toBe(false);
  expect(contested.remembered).toBe(1);
  // Where all is well, nothing is written any more.
  await clock.advance(60_000);
  contested.tick();
  expect(contested.remembered).toBe(0);
});

test('what is remembered is looked through every ten seconds, and loses what was written a minute ago', async () => {
  const { clock, contested, write } = started();
  await clock.advance(10_000);
  write();
  await clock.advance(50_000);
  contested.tick();
  expect(contested.remembered).toBe(1);
  await clock.advance(9999);
  contested.tick();
  expect(contested.remembered).toBe(1);
  await clock.advance(1);
  contested.tick();
  expect(contested.remembered).toBe(0);
});

describe('whether a key is left out', () => {
  const seen = (labels: Record<string, string>): SeenNode => ({
    ...node,
    labels,
    annotations: {},
    owned: { labels: new Set(), annotations: new Set() },
  });

  test('is said by what does not stay, and the question changes nothing', () => {
    const { contested, write } = started();
    const asking = () => contested.asking(seen({ k: 'theirs' }))?.(label, 'v');
    expect(asking()).toBeUndefined();
    for (let count = 0; count < 4; count += 1) write();
    expect(asking()).toBe('contested');
    expect(contested.size).toBe(0);
  });

  test('is not asked of a key that is as it is wanted', () => {
    const { contested, write } = started();
    for (let count = 0; count < 4; count += 1) write();
    expect(contested.asking(seen({ k: 'v' }))?.(label, 'v')).toBeUndefined();
    expect(contested.size).toBe(0);
  });
});
