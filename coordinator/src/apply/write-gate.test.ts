import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import { UNREACHABLE } from './reconciler.test-fixtures.ts';
import { WriteGate } from './write-gate.ts';
import type { WriteOutcome } from './write-outcome.ts';

const APPLIED: WriteOutcome = { kind: 'applied', node: { metadata: { name: 'n', uid: 'u', resourceVersion: '2' } } };

function started(remainingMs: number) {
  const clock = new FakeClock();
  const state = { remainingMs };
  const timeouts: number[] = [];
  const seconds: number[] = [];
  const reports: unknown[] = [];
  const gate = new WriteGate({
    fence: { remainingMs: () => state.remainingMs },
    metrics: {
      countPatch: () => {},
      observePatch: (_kind, tookSeconds) => seconds.push(tookSeconds),
      observeQueueLatency: () => {},
      observeEvidenceToApplied: () => {},
    },
    clock,
  });
  const pass = (outcome: WriteOutcome = APPLIED, tookMs = 0) =>
    gate.pass('set', { report: (feedback) => reports.push(feedback) }, async (timeoutMs) => {
      timeouts.push(timeoutMs);
      await new Promise<void>((resolve) => clock.after(tookMs, resolve));
      return outcome;
    });
  return { clock, gate, pass, state, timeouts, seconds, reports };
}

describe('a write', () => {
  test.each([0, -1])('does not begin with %i ms left on the fence', async (remainingMs) => {
    const { gate, pass, timeouts, reports } = started(remainingMs);
    expect(gate.open).toBe(false);
    expect(await pass()).toEqual({ kind: 'fenced' });
    expect([timeouts, reports]).toEqual([[], []]);
  });

  test.each([
    [1, 1],
    [9999, 9999],
    [60_000, 10_000],
  ])('with %i ms left on the fence takes %i ms at most', async (remainingMs, timeoutMs) => {
    const { clock, gate, pass, timeouts } = started(remainingMs);
    expect(gate.open).toBe(true);
    const passed = pass();
    await clock.advance(0);
    expect(await passed).toEqual(APPLIED);
    expect(timeouts).toEqual([timeoutMs]);
  });

  test('does not begin after the gate was closed, whatever the fence says', async () => {
    const { gate, pass, timeouts } = started(60_000);
    gate.close();
    expect(gate.open).toBe(false);
    expect(await pass()).toEqual({ kind: 'fenced' });
    expect(timeouts).toEqual([]);
  });

  test('is measured in seconds', async () => {
    const { clock, pass, seconds } = started(60_000);
    await clock.advance(5000);
    const passed = pass(APPLIED, 250);
    await clock.advance(250);
    await passed;
    expect(seconds).toEqual([0.25]);
  });

  test.each<[WriteOutcome, object]>([
    [APPLIED, { kind: 'answered' }],
    [{ kind: 'failed', error: new Error('on purpose') }, { kind: 'answered' }],
    [{ kind: 'failed', error: UNREACHABLE }, { kind: 'unreachable' }],
    [
      { kind: 'throttled', retryAfterMs: 3000 },
      { kind: 'throttled', retryAfterMs: 3000 },
    ],
  ])('that ends as %j tells its slot so', async (outcome, report) => {
    const { clock, pass, reports } = started(60_000);
    const passed = pass(outcome);
    await clock.advance(0);
    await passed;
    expect(reports).toMatchObject([report]);
  });
});

test('the gate is settled when the last write under way has ended, and not before', async () => {
  const { clock, gate, pass } = started(60_000);
  const writes = [pass(APPLIED, 100), pass(APPLIED, 200)];
  let isSettled = false;
  const settled = gate.settled().then(() => {
    isSettled = true;
  });
  await clock.advance(199);
  expect(isSettled).toBe(false);
  await clock.advance(1);
  await Promise.all([...writes, settled]);
  expect(isSettled).toBe(true);
});
