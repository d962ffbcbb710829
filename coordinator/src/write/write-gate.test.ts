import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import type { WriteOutcome } from './classify.ts';
import { SlowNodes } from './slow-nodes.ts';
import type { Lane } from './work-queue.ts';
import { WriteGate } from './write-gate.ts';
import { TIMED_OUT, UNREACHABLE } from './write-queue.test-fixtures.ts';

const APPLIED: WriteOutcome = { kind: 'applied', node: { metadata: { name: 'n', uid: 'u', resourceVersion: '2' } } };

function started() {
  const clock = new FakeClock();
  const state = { answers: true, isAwaited: false };
  const seconds: number[] = [];
  const slowNodes = new SlowNodes({ clock, read: async () => state.answers });
  const gate = new WriteGate({
    metrics: {
      countPatch: () => {},
      observePatch: (_kind, tookSeconds) => seconds.push(tookSeconds),
      observeQueueLatency: () => {},
      observeEvidenceToApplied: () => {},
    },
    clock,
    random: () => 1 - Number.EPSILON,
    slowNodes,
    isAwaited: () => state.isAwaited,
  });
  const pass = (outcome: WriteOutcome = APPLIED, tookMs = 0, lane: Lane = 'normal') =>
    gate.pass('set', { node: 'n', lane }, async ({ signal }) => {
      await new Promise<void>((resolve) => {
        clock.after(tookMs, resolve);
        signal.addEventListener('abort', () => resolve());
      });
      return signal.aborted ? { kind: 'failed', error: signal.reason } : outcome;
    });
  return { clock, gate, pass, slowNodes, state, seconds };
}

describe('a write', () => {
  test('that was not sent says nothing of its node', async () => {
    const { clock, pass, slowNodes, seconds } = started();
    slowNodes.took('n', 5000);
    const passed = pass({ kind: 'fenced' }, 0, 'slow');
    await clock.advance(0);
    expect(await passed).toEqual({ kind: 'fenced' });
    expect([slowNodes.has('n'), seconds]).toEqual([true, []]);
  });

  test('is measured in seconds', async () => {
    const { clock, pass, seconds } = started();
    await clock.advance(5000);
    const passed = pass(APPLIED, 250);
    await clock.advance(250);
    await passed;
    expect(seconds).toEqual([0.25]);
  });
});

describe('a node', () => {
  test.each<[string, WriteOutcome, number, boolean]>([
    ['that answers within a second is not slow', APPLIED, 200, false],
    ['that answers after a second is slow', APPLIED, 1000, true],
    ['that does not answer in time is slow', { kind: 'failed', error: TIMED_OUT }, 0, true],
    ['to which no connection is made is not slow', { kind: 'failed', error: UNREACHABLE }, 0, false],
  ])('%s', async (_what, outcome, tookMs, isSlow) => {
    const { clock, gate, pass, slowNodes } = started();
    const passed = pass(outcome, tookMs, 'slow');
    await clock.advance(tookMs);
    await passed;
    expect(slowNodes.has('n')).toBe(isSlow);
    // What the Node alone may be the cause of makes none wait.
    let hasRun = false;
    void gate.run('normal', async () => (hasRun = true));
    expect(hasRun).toBe(outcome.kind !== 'failed' || outcome.error !== UNREACHABLE);
  });

  test('that is slow is not slow any more once it answers soon, or is gone', async () => {
    const { clock, pass, slowNodes } = started();
    slowNodes.took('n', 5000);
    const passed = pass(APPLIED, 10, 'slow');
    await clock.advance(10);
    await passed;
    expect(slowNodes.has('n')).toBe(false);
    slowNodes.took('n', 5000);
    slowNodes.forget('n');
    expect(slowNodes.has('n')).toBe(false);
  });
});

/** Other Nodes wait for the place of each write. */
function waitedFor() {
  const run = started();
  run.state.isAwaited = true;
  for (let count = 0; count < 100; count += 1) run.slowNodes.took('other', 10);
  return run;
}

describe('a write that hangs while others wait for its place', () => {
  test('is given up soon while the API server answers a read', async () => {
    const { clock, pass, slowNodes } = waitedFor();
    const passed = pass(APPLIED, 9000);
    await clock.advance(126);
    expect(await passed).toMatchObject({ kind: 'failed', error: { code: 'KUBE_UNREACHABLE' } });
    expect(slowNodes.has('n')).toBe(true);
    expect(clock.pendingTimers).toBe(1);
  });

  test.each<[string, Lane, boolean]>([
    ['the API server answers no read either', 'normal', false],
    ['it is known to be slow', 'slow', true],
  ])('is waited for, for a while, where %s', async (_what, lane, answers) => {
    const { clock, pass, state } = waitedFor();
    state.answers = answers;
    const passed = pass(APPLIED, 1900, lane);
    await clock.advance(1900);
    expect(await passed).toEqual(APPLIED);
  });

  test('is given up after two seconds where reads are not answered', async () => {
    const { clock, pass, state } = waitedFor();
    state.answers = false;
    const passed = pass(APPLIED, 9000);
    await clock.advance(2200);
    expect(await passed).toMatchObject({ kind: 'failed' });
  });

  test('is given up later where writes take their time', async () => {
    const { clock, pass, slowNodes } = waitedFor();
    for (let count = 0; count < 100; count += 1) slowNodes.took('other', 180);
    const passed = pass(APPLIED, 800);
    await clock.advance(800);
    expect(await passed).toEqual(APPLIED);
  });
});
