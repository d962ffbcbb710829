import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CONCURRENCY_INITIAL, CONCURRENCY_MAX, CONCURRENCY_MIN, ConcurrencyWindow } from './concurrency-window.ts';

/** Answers that each took `latencyMs`, with all slots in use, for `forMs`. */
function answerFor(
  window: ConcurrencyWindow,
  startMs: number,
  forMs: number,
  latencyMs: number,
  onLimit: (limit: number) => void = () => {},
): number {
  let nowMs = startMs;
  while (nowMs < startMs + forMs) {
    nowMs += latencyMs / window.limit;
    window.answered({ startedMs: nowMs - latencyMs, nowMs, full: true });
    onLimit(window.limit);
  }
  return nowMs;
}

describe('the limit', () => {
  test('begins at 16', () => {
    expect(new ConcurrencyWindow().limit).toBe(16);
  });

  test('grows to 64 while latency is flat', () => {
    const window = new ConcurrencyWindow();
    answerFor(window, 0, 60_000, 10);
    expect(window.limit).toBe(64);
  });

  test('does not grow while it is not reached', () => {
    const window = new ConcurrencyWindow();
    for (let nowMs = 0; nowMs < 60_000; nowMs += 5) window.answered({ startedMs: nowMs - 5, nowMs, full: false });
    expect(window.limit).toBe(CONCURRENCY_INITIAL);
  });

  test('stops growing when latency rises with it', () => {
    const window = new ConcurrencyWindow();
    let nowMs = 0;
    for (let round = 0; round < 200; round += 1) nowMs = answerFor(window, nowMs, 300, window.limit);
    expect(window.limit).toBeGreaterThanOrEqual(CONCURRENCY_INITIAL);
    expect(window.limit).toBeLessThanOrEqual(24);
  });

  test('is halved when latency doubles for good, once', () => {
    const window = new ConcurrencyWindow();
    const nowMs = answerFor(window, 0, 700, 10);
    const limits = [window.limit];
    answerFor(window, nowMs, 10_000, 25, (limit) => limits.push(limit));
    const steps = limits.slice(1).map((limit, index) => ({ before: limits[index] ?? 0, limit }));
    const cuts = steps.filter(({ before, limit }) => limit < before);
    expect(cuts).toHaveLength(1);
    expect(cuts[0]?.limit).toBe(Math.floor((cuts[0]?.before ?? 0) / 2));
  });

  test('is not halved for a slow second', () => {
    const window = new ConcurrencyWindow();
    let nowMs = answerFor(window, 0, 700, 10);
    const before = window.limit;
    nowMs = answerFor(window, nowMs, 1000, 40);
    answerFor(window, nowMs, 300, 10);
    expect(window.limit).toBeGreaterThanOrEqual(before);
  });

  /** One verdict: 32 answers that each took so long, over a quarter of a second. */
  function playRound(window: ConcurrencyWindow, startMs: number, latencyMs: number): number {
    for (let index = 0; index < 32; index += 1) {
      const nowMs = startMs + index * 10;
      window.answered({ startedMs: nowMs - latencyMs, nowMs, full: true });
    }
    return startMs + 320;
  }

  test('is halved by the sixth slow round in a row, and not by the fifth', () => {
    const window = new ConcurrencyWindow();
    let nowMs = playRound(window, 1000, 10);
    for (let round = 0; round < 5; round += 1) nowMs = playRound(window, nowMs, 20);
    expect(window.limit).toBe(16);
    nowMs = playRound(window, nowMs, 10);
    for (let round = 0; round < 5; round += 1) nowMs = playRound(window, nowMs, 20);
    expect(window.limit).toBe(18);
    playRound(window, nowMs, 20);
    expect(window.limit).toBe(9);
  });

  test('is evaluated by nothing that was answered before it was cut', () => {
    const window = new ConcurrencyWindow();
    for (let index = 0; index < 31; index += 1) {
      window.answered({ startedMs: index * 10, nowMs: index * 10 + 5, full: true });
    }
    window.throttled({ startedMs: 300, nowMs: 320 });
    expect(window.limit).toBe(8);
    const beganMs = playRound(window, 400, 5);
    // What it is compared with is learnt anew from that round, whole.
    window.answered({ startedMs: beganMs, nowMs: beganMs + 5, full: true });
    expect(window.limit).toBe(8);
    playRound(window, beganMs + 10, 5);
    expect(window.limit).toBe(9);
  });

  test('is not evaluated by what began before it was cut and was answered afterwards', () => {
    const window = new ConcurrencyWindow();
    window.throttled({ startedMs: 300, nowMs: 320 });
    for (let index = 0; index < 40; index += 1) {
      window.answered({ startedMs: 310, nowMs: 330 + index * 10, full: true });
    }
    const nowMs = playRound(window, 1000, 5);
    expect(window.limit).toBe(8);
    playRound(window, nowMs, 5);
    expect(window.limit).toBe(9);
  });

  test('is compared with the fastest rounds, not with the first', () => {
    const window = new ConcurrencyWindow();
    let nowMs = playRound(window, 1000, 20);
    nowMs = playRound(window, nowMs, 10);
    expect(window.limit).toBe(18);
    // Half way between the two is 15 ms: 20 ms are a third more.
    playRound(window, nowMs, 20);
    expect(window.limit).toBe(18);
  });

  test('is evaluated by the median: a quarter of fast answers does not hide that most are slow', () => {
    const window = new ConcurrencyWindow();
    const nowMs = playRound(window, 1000, 10);
    for (let index = 0; index < 32; index += 1) {
      const atMs = nowMs + index * 10;
      window.answered({ startedMs: atMs - (index < 12 ? 10 : 15), nowMs: atMs, full: true });
    }
    expect(window.limit).toBe(16);
  });

  test('is evaluated a quarter of a second after the first answer of a round', () => {
    const window = new ConcurrencyWindow();
    const nowMs = playRound(window, 1000, 10);
    window.answered({ startedMs: nowMs - 10, nowMs, full: true });
    for (let index = 0; index < 30; index += 1) {
      window.answered({ startedMs: nowMs + 90, nowMs: nowMs + 100, full: true });
    }
    window.answered({ startedMs: nowMs + 239, nowMs: nowMs + 249, full: true });
    expect(window.limit).toBe(16);
    window.answered({ startedMs: nowMs + 240, nowMs: nowMs + 250, full: true });
    expect(window.limit).toBe(18);
  });

  test('does not fall below 8 for latency alone', () => {
    const window = new ConcurrencyWindow();
    const limits: number[] = [];
    let nowMs = 0;
    for (let latencyMs = 1; latencyMs < 100; latencyMs *= 2.5) {
      nowMs = answerFor(window, nowMs, limits.length === 0 ? 300 : 1900, latencyMs, (limit) => limits.push(limit));
    }
    expect(Math.min(...limits)).toBe(8);
  });

  test('that was halved for latency begins anew a minute later, and not before', () => {
    const window = new ConcurrencyWindow();
    let nowMs = playRound(window, 1000, 10);
    for (let round = 0; round < 6; round += 1) nowMs = playRound(window, nowMs, 20);
    const cutMs = nowMs - 10;
    const limitAt = (atMs: number) => {
      window.answered({ startedMs: atMs - 20, nowMs: atMs, full: false });
      return window.limit;
    };
    expect([limitAt(cutMs + 59_999), limitAt(cutMs + 60_000)]).toEqual([8, CONCURRENCY_INITIAL]);
  });

  test('is halved once for all that were under way when the API server throttled', () => {
    const window = new ConcurrencyWindow();
    for (let index = 0; index < 16; index += 1) window.throttled({ startedMs: 0, nowMs: 10 + index });
    expect(window.limit).toBe(8);
    window.throttled({ startedMs: 30, nowMs: 40 });
    expect(window.limit).toBe(4);
  });

  test('falls to 1 while the API server goes on throttling, and never to 0', () => {
    const window = new ConcurrencyWindow();
    for (let nowMs = 10; nowMs < 200; nowMs += 10) window.throttled({ startedMs: nowMs - 1, nowMs });
    expect(window.limit).toBe(1);
  });

  test('begins anew a minute after the last trouble', () => {
    const window = new ConcurrencyWindow();
    for (let nowMs = 10; nowMs < 200; nowMs += 10) window.throttled({ startedMs: nowMs - 1, nowMs });
    window.answered({ startedMs: 50_000, nowMs: 50_010, full: false });
    expect(window.limit).toBe(CONCURRENCY_MIN);
    window.answered({ startedMs: 61_000, nowMs: 61_010, full: false });
    expect(window.limit).toBe(CONCURRENCY_INITIAL);
  });
});

// Whole numbers: most doubles are next to zero.
const event = fc.record({
  afterMs: fc.nat({ max: 500 }),
  latencyMs: fc.nat({ max: 20_000 }),
  kind: fc.constantFrom('full' as const, 'free' as const, 'throttled' as const),
});
/** The same hundreds of times: less takes the limit nowhere near its maximum. */
const phase = fc
  .tuple(event, fc.integer({ min: 1, max: 500 }))
  .map(([one, times]) => Array.from({ length: times }, () => one));
const events = fc.oneof(
  fc.array(event, { maxLength: 600 }),
  fc.array(phase, { maxLength: 12 }).map((phases) => phases.flat()),
);

test('whatever happens, the limit stays within its bounds, and being throttled never raises it', () => {
  fc.assert(
    fc.property(events, (history) => {
      const window = new ConcurrencyWindow();
      let nowMs = 0;
      for (const { afterMs, latencyMs, kind } of history) {
        nowMs += afterMs;
        const before = window.limit;
        const startedMs = nowMs - latencyMs;
        if (kind === 'throttled') window.throttled({ startedMs, nowMs });
        else window.answered({ startedMs, nowMs, full: kind === 'full' });
        expect(window.limit).toBeGreaterThanOrEqual(CONCURRENCY_MIN);
        expect(window.limit).toBeLessThanOrEqual(CONCURRENCY_MAX);
        expect(Number.isInteger(window.limit)).toBe(true);
        if (kind === 'throttled') expect(window.limit).toBeLessThanOrEqual(before);
      }
    }),
  );
});

/**
 * How long `requests` take on a server that works on `cores` at once and lets the others wait, where each needs between
 * half of `workMs` and one and a half.
 */
function makespanMs(requests: number, cores: number, workMs: number, random: () => number, window?: ConcurrencyWindow) {
  const coresFreeAtMs = Array.from({ length: cores }, () => 0);
  const underWay: { startedMs: number; endMs: number; full: boolean }[] = [];
  let nowMs = 0;
  let begun = 0;
  for (let ended = 0; ended < requests; ended += 1) {
    const limit = window?.limit ?? CONCURRENCY_INITIAL;
    while (begun < requests && underWay.length < limit) {
      const core = coresFreeAtMs.indexOf(Math.min(...coresFreeAtMs));
      const endMs = Math.max(nowMs, coresFreeAtMs[core] ?? 0) + workMs * (0.5 + random());
      coresFreeAtMs[core] = endMs;
      underWay.push({ startedMs: nowMs, endMs, full: underWay.length + 1 >= limit });
      begun += 1;
    }
    underWay.sort((a, b) => b.endMs - a.endMs);
    const next = underWay.pop();
    if (!next) break;
    nowMs = next.endMs;
    window?.answered({ startedMs: next.startedMs, nowMs, full: next.full });
  }
  return nowMs;
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

describe('a cold start of 5,000 writes', () => {
  test.each([
    [2, 2],
    [4, 4],
    [8, 4],
    [16, 10],
    [64, 20],
  ])('on a server of %i cores and %i ms a write takes no longer than with 16 at a time', (cores, workMs) => {
    for (const seed of [1, 2, 3]) {
      const fixed = makespanMs(5000, cores, workMs, seeded(seed));
      const adaptive = makespanMs(5000, cores, workMs, seeded(seed), new ConcurrencyWindow());
      expect(adaptive / fixed).toBeLessThanOrEqual(1.05);
    }
  });

  test('is faster where the server has room for more', () => {
    const fixed = makespanMs(5000, 64, 20, seeded(1));
    expect(makespanMs(5000, 64, 20, seeded(1), new ConcurrencyWindow()) / fixed).toBeLessThan(0.7);
  });
});
