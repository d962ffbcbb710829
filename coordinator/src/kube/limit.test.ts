import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { Limit } from './https-client.ts';

test('a limit counts from when it was last set, until it is ended', async () => {
  const clock = new FakeClock();
  const limit = new Limit(clock, undefined);
  limit.within(100, 'first');
  await clock.advance(99);
  limit.within(100, 'second');
  await clock.advance(99);
  expect(limit.signal.aborted).toBe(false);
  limit.end();
  expect(clock.pendingTimers).toBe(0);
  await clock.advance(1000);
  expect(limit.signal.aborted).toBe(false);
});

test('a limit that is reached says what was waited for', async () => {
  const clock = new FakeClock();
  const limit = new Limit(clock, undefined);
  limit.withinSilence(100);
  await clock.advance(100);
  expect(limit.signal.reason).toMatchObject({ code: 'KUBE_UNREACHABLE', fields: { idleTimeoutMs: 100 } });
});
