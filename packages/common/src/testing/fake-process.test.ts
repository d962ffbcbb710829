import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from './fake-clock.ts';
import { FakeProcess } from './fake-process.ts';

let world: FakeClock;
let ranks: number[];
let steps: number;
let seen: string[];
let fake: FakeProcess;

beforeEach(() => {
  world = new FakeClock();
  ranks = [];
  steps = 0;
  seen = [];
  fake = make();
});

function make(rate?: number): FakeProcess {
  return new FakeProcess({
    world,
    random: () => ranks.shift() ?? 0,
    ...(rate === undefined ? {} : { rate }),
    afterStep: () => {
      steps += 1;
    },
  });
}

const see = (what: string) => () => void seen.push(what);

describe('the clock of a process', () => {
  test('is the clock of the world', async () => {
    fake.clock.after(10, see('a'));
    await world.advance(9);
    expect(seen).toEqual([]);
    await world.advance(1);
    expect(seen).toEqual(['a']);
    expect([fake.clock.now(), fake.clock.monotonic()]).toEqual([world.now(), 10]);
  });

  test('runs faster or slower where it is told to, except its wall clock', async () => {
    const fast = make(2);
    fast.clock.after(100, see('fast'));
    await world.advance(49);
    expect(seen).toEqual([]);
    await world.advance(1);
    expect(seen).toEqual(['fast']);
    expect([fast.clock.monotonic(), fast.clock.now()]).toEqual([100, world.now()]);
  });

  test('does not call back what was cancelled, also while it waits for the process to go on', async () => {
    const cancelFirst = fake.clock.after(10, see('first'));
    cancelFirst();
    expect(world.pendingTimers).toBe(0);
    const cancelSecond = fake.clock.after(10, see('second'));
    fake.pause();
    await world.advance(10);
    cancelSecond();
    fake.resume();
    await world.advance(10);
    expect(seen).toEqual([]);
  });

  test('can be wrong about the time of day, by whole milliseconds', () => {
    fake.jumpWallClock(1000.4);
    fake.jumpWallClock(-500);
    expect(fake.wallOffsetMs).toBeCloseTo(500.4);
    expect(fake.clock.now()).toBe(world.now() + 500);
    expect(fake.clock.monotonic()).toBe(0);
  });
});

describe('a process', () => {
  test('says when it has done something', () => {
    fake.step(see('a'));
    expect([seen, steps]).toEqual([['a'], 1]);
  });

  test('does nothing while it is stopped, and all of it, in any order, when it goes on', async () => {
    fake.pause();
    expect(fake.isPaused).toBe(true);
    fake.clock.after(5, see('timer'));
    fake.step(see('answer'));
    await world.advance(1000);
    expect([seen, steps]).toEqual([[], 0]);
    ranks = [0.9, 0.1];
    fake.resume();
    expect(fake.isPaused).toBe(false);
    expect(seen).toEqual([]);
    await world.advance(0);
    expect([seen, steps]).toEqual([['timer', 'answer'], 2]);
    fake.resume();
    await world.advance(0);
    expect(seen).toHaveLength(2);
  });

  test('whose machine is suspended finds its monotonic clock and its timers where they stood', async () => {
    const wallMs = world.now();
    fake.clock.after(30, see('timer'));
    await world.advance(10);
    fake.suspend();
    await world.advance(1000);
    expect([fake.isSuspended, fake.isPaused, fake.clock.monotonic()]).toEqual([true, true, 10]);
    fake.resume();
    expect([fake.isSuspended, fake.isPaused]).toEqual([false, false]);
    await world.advance(19);
    expect([fake.clock.monotonic(), fake.clock.now() - wallMs, seen]).toEqual([29, 1029, []]);
    await world.advance(1);
    expect(seen).toEqual(['timer']);
  });

  test('whose machine is suspended again and again waits as long for what it was to do later', async () => {
    const fast = make(2);
    fast.clock.after(100, see('timer'));
    fast.clock.after(100, see('cancelled'))();
    const cancelLater = fast.clock.after(90, see('cancelled later'));
    for (let times = 0; times < 4; times += 1) {
      await world.advance(10);
      fast.suspend();
      await world.advance(25);
      fast.resume();
    }
    cancelLater();
    expect(fast.clock.monotonic()).toBe(80);
    await world.advance(9);
    expect(seen).toEqual([]);
    await world.advance(1);
    expect(seen).toEqual(['timer']);
  });

  test('does nothing any more when it is killed', async () => {
    fake.clock.after(5, see('before'));
    fake.pause();
    fake.step(see('held'));
    expect(fake.isDead).toBe(false);
    fake.kill();
    expect(fake.isDead).toBe(true);
    fake.resume();
    fake.step(see('after'));
    const timers = world.pendingTimers;
    fake.clock.after(5, see('timer'))();
    expect(world.pendingTimers).toBe(timers);
    await world.advance(1000);
    expect([seen, steps]).toEqual([[], 0]);
  });
});
