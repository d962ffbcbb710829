import { beforeEach, describe, expect, test } from 'vitest';
import { HealthChecks, latched, Watchdog } from './health.ts';
import { FakeClock } from './testing/fake-clock.ts';

describe('HealthChecks', () => {
  test('are well when there is nothing to check', () => {
    expect(new HealthChecks().evaluate()).toEqual({ healthy: true, report: '' });
  });

  test('are as well as the worst of them, and name each', () => {
    const checks = new HealthChecks();
    checks.add('probes', () => undefined);
    checks.add('reporter', () => 'no progress');
    expect(checks.evaluate()).toEqual({
      healthy: false,
      report: '[+]probes ok\n[-]reporter failed: no progress',
    });
  });

  test('can be asked one by one', () => {
    const checks = new HealthChecks();
    checks.add('probes', () => undefined);
    checks.add('reporter', () => 'no progress');
    expect(checks.evaluate('probes')).toEqual({ healthy: true, report: '[+]probes ok' });
    expect(checks.evaluate('nothing')).toBeUndefined();
  });
});

test('a check that is removed is asked no more', () => {
  const checks = new HealthChecks();
  checks.add('probes', () => 'no progress');
  checks.remove('probes');
  expect(checks.evaluate()).toEqual({ healthy: true, report: '' });
});

test('a latched check fails until all is well once, and never again', () => {
  let reason: string | undefined = 'not yet';
  const check = latched(() => reason);
  expect([check(), check()]).toEqual(['not yet', 'not yet']);
  reason = undefined;
  expect(check()).toBeUndefined();
  reason = 'not any more';
  expect([check(), check()]).toEqual([undefined, undefined]);
});

describe('Watchdog', () => {
  let clock: FakeClock;
  let watchdog: Watchdog;

  beforeEach(() => {
    clock = new FakeClock();
    watchdog = new Watchdog({ clock, limitMs: 10_000 });
  });

  test('is content for as long as the work beats', async () => {
    for (let i = 0; i < 10; i += 1) {
      await clock.advance(9000);
      expect(watchdog.check()).toBeUndefined();
      watchdog.beat();
    }
  });

  test('complains when the work has not beaten for longer than the limit, until it beats again', async () => {
    await clock.advance(10_000);
    expect(watchdog.check()).toBeUndefined();
    await clock.advance(1000);
    expect(watchdog.check()).toBe('no progress for 11 s');
    watchdog.beat();
    expect(watchdog.check()).toBeUndefined();
  });

  test('does not count the time for which the whole process stood still', async () => {
    await clock.advance(5000);
    clock.standStill(3_600_000);
    await clock.advance(0);
    expect(watchdog.check()).toBeUndefined();
    await clock.advance(10_000);
    expect(watchdog.check()).toBeDefined();
  });

  test('does not count that time either where it was asked shortly before', async () => {
    await clock.advance(5000);
    expect(watchdog.check()).toBeUndefined();
    clock.standStill(3_600_000);
    await clock.advance(0);
    expect(watchdog.check()).toBeUndefined();
    await clock.advance(1);
    expect(watchdog.check()).toBeDefined();
  });

  test('complains at the second question, however rarely it is asked', async () => {
    await clock.advance(3_600_000);
    expect(watchdog.check()).toBeUndefined();
    await clock.advance(3_600_000);
    expect(watchdog.check()).toBe('no progress for 20 s');
  });

  test('never wakes the process', () => {
    expect(clock.pendingTimers).toBe(0);
  });
});
