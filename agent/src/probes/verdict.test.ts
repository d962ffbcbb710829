import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProbeResult, ServiceState } from './types.ts';
import { foldFinding, NOTHING_KNOWN, type Tally, type Thresholds } from './verdict.ts';

const THRESHOLDS: Thresholds = { name: 'ws-daemon', failureThreshold: 3, successThreshold: 1 };

type Verdict = ProbeResult['verdict'];

function finding(verdict: Verdict, evidence: string = verdict): ProbeResult {
  return { verdict, evidence, latencyMs: 1 };
}

/** Folds findings that come one second after another; returns the tally after each. */
function foldAll(findings: ProbeResult[], thresholds: Thresholds = THRESHOLDS): Tally[] {
  const tallies: Tally[] = [];
  let tally = NOTHING_KNOWN;
  for (const [index, each] of findings.entries()) {
    tally = foldFinding(tally, each, thresholds, index * 1000);
    tallies.push(tally);
  }
  return tallies;
}

/** What is known after the last of these verdicts: ready, not ready, or nothing yet. */
function readyAfter(verdicts: Verdict[], thresholds: Partial<Thresholds> = {}): boolean | undefined {
  return foldAll(
    verdicts.map((verdict) => finding(verdict)),
    { ...THRESHOLDS, ...thresholds },
  ).at(-1)?.state?.ready;
}

describe('foldFinding', () => {
  it('uses the first finding when nothing is known, except a soft one', () => {
    expect(readyAfter(['healthy'])).toBe(true);
    expect(readyAfter(['soft', 'soft'])).toBeUndefined();
    expect(readyAfter(['soft', 'soft', 'soft'])).toBe(false);
    expect(readyAfter(['soft', 'healthy'])).toBe(true);
    expect(readyAfter(['hard'])).toBe(false);
  });

  it('has no verdict while the first healthy findings are fewer than the success threshold', () => {
    expect(readyAfter(['healthy'], { successThreshold: 2 })).toBeUndefined();
    expect(readyAfter(['healthy', 'healthy'], { successThreshold: 2 })).toBe(true);
    expect(readyAfter(['healthy', 'soft'], { successThreshold: 2 })).toBeUndefined();
  });

  it('is unknown after as many unknown findings in a row as the failure threshold, and counts anew from there', () => {
    const tallies = foldAll(['healthy', 'unknown', 'unknown', 'unknown'].map((each) => finding(each as Verdict)));
    expect(tallies.map(({ state }) => state?.unknown)).toEqual([undefined, undefined, undefined, true]);
    expect(tallies[3]?.state).toEqual({
      name: 'ws-daemon',
      ready: false,
      unknown: true,
      sinceMs: 3000,
      evidence: 'unknown',
    });
    const after = (...verdicts: Verdict[]) =>
      foldAll(['unknown', 'unknown', 'unknown', ...verdicts].map((each) => finding(each as Verdict))).at(-1)?.state;
    expect(after('soft', 'soft')).toMatchObject({ unknown: true });
    expect(after('soft', 'soft', 'soft')).toEqual({ name: 'ws-daemon', ready: false, sinceMs: 5000, evidence: 'soft' });
    expect(after('hard')).toEqual({ name: 'ws-daemon', ready: false, sinceMs: 3000, evidence: 'hard' });
    expect(after('healthy')).toEqual({ name: 'ws-daemon', ready: true, sinceMs: 3000, evidence: 'healthy' });
    expect(after('unknown')).toMatchObject({ unknown: true, sinceMs: 2000 });
  });

  it('withdraws nothing for findings that are unknown, however many, but for the soft ones between them', () => {
    expect(readyAfter(['healthy', 'unknown', 'soft', 'unknown', 'soft'])).toBe(true);
    expect(readyAfter(['healthy', 'soft', 'unknown', 'soft', 'unknown', 'soft'])).toBe(false);
    expect(readyAfter(['hard', 'unknown', 'unknown'])).toBe(false);
  });

  it('withdraws on the third soft finding in a row, not before, and not when they are interrupted', () => {
    expect(readyAfter(['healthy', 'soft', 'soft'])).toBe(true);
    expect(readyAfter(['healthy', 'soft', 'soft', 'soft'])).toBe(false);
    expect(readyAfter(['healthy', 'soft', 'soft', 'healthy', 'soft', 'soft'])).toBe(true);
  });

  it('readmits after as many healthy findings in a row as the success threshold says', () => {
    const thresholds = { successThreshold: 2 };
    expect(readyAfter(['hard', 'healthy'], thresholds)).toBe(false);
    expect(readyAfter(['hard', 'healthy', 'soft', 'healthy'], thresholds)).toBe(false);
    expect(readyAfter(['hard', 'healthy', 'healthy'], thresholds)).toBe(true);
  });

  it('keeps the time of the change while the evidence moves on', () => {
    const states = foldAll([finding('healthy'), finding('hard', 'refused'), finding('soft', 'late')]).map(
      (tally) => tally.state,
    );
    expect(states).toEqual([
      { name: 'ws-daemon', ready: true, sinceMs: 0, evidence: 'healthy' },
      { name: 'ws-daemon', ready: false, sinceMs: 1000, evidence: 'refused' },
      { name: 'ws-daemon', ready: false, sinceMs: 1000, evidence: 'late' },
    ]);
  });

  it('keeps the evidence that supports the verdict', () => {
    const [, stillReady] = foldAll([finding('healthy', 'well'), finding('soft', 'late')]);
    expect(stillReady?.state?.evidence).toBe('well');
    const [, stillNot] = foldAll([finding('hard', 'refused'), finding('healthy', 'well')], {
      ...THRESHOLDS,
      successThreshold: 2,
    });
    expect(stillNot?.state?.evidence).toBe('refused');
  });

  it('returns the same state when nothing about it changed', () => {
    const [first, second] = foldAll([finding('healthy'), finding('healthy')]);
    expect(second?.state).toBe(first?.state);
  });
});

const anyFinding = fc
  .record({ verdict: fc.constantFrom<Verdict>('healthy', 'soft', 'hard'), evidence: fc.constantFrom('a', 'b', 'c') })
  .map(({ verdict, evidence }) => finding(verdict, `${verdict} ${evidence}`));
const anyThresholds = fc.record({
  name: fc.constant('ws-daemon'),
  failureThreshold: fc.integer({ min: 1, max: 5 }),
  successThreshold: fc.integer({ min: 1, max: 5 }),
});

/** Runs `check` after each finding of any history, with the states before and after. */
function always(check: (step: Step) => void): void {
  fc.assert(
    fc.property(fc.array(anyFinding, { maxLength: 40 }), anyThresholds, (findings, thresholds) => {
      const tallies = foldAll(findings, thresholds);
      for (const [index, tally] of tallies.entries()) {
        const verdicts = findings.slice(0, index + 1).map((each) => each.verdict);
        const newest = findings[index];
        if (newest) check({ before: tallies[index - 1]?.state, after: tally.state, newest, verdicts, thresholds });
      }
    }),
  );
}

type Step = {
  before: ServiceState | undefined;
  after: ServiceState | undefined;
  newest: ProbeResult;
  /** Up to and with the newest. */
  verdicts: Verdict[];
  thresholds: Thresholds;
};

/** How many verdicts at the end are the same one. */
function runOf(verdict: Verdict, verdicts: Verdict[]): number {
  return verdicts.length - 1 - verdicts.findLastIndex((each) => each !== verdict);
}

describe('foldFinding, whatever happened before', () => {
  it('never delays what a hard finding says', () => {
    always(({ newest, after }) => {
      if (newest.verdict === 'hard') expect(after).toMatchObject({ ready: false, evidence: newest.evidence });
    });
  });

  it('withdraws for soft findings exactly when the threshold is reached', () => {
    always(({ before, after, newest, verdicts, thresholds }) => {
      if (newest.verdict !== 'soft' || !before?.ready) return;
      expect(after?.ready).toBe(runOf('soft', verdicts) < thresholds.failureThreshold);
    });
  });

  it('readmits exactly when the success threshold is reached, and for nothing else', () => {
    always(({ before, after, newest, verdicts, thresholds }) => {
      if (before?.ready) return;
      const reached = newest.verdict === 'healthy' && runOf('healthy', verdicts) >= thresholds.successThreshold;
      expect(after?.ready === true).toBe(reached);
    });
  });

  it('never withdraws on a healthy finding', () => {
    always(({ before, after, newest }) => {
      if (newest.verdict === 'healthy' && before) expect(after?.ready || !before.ready).toBe(true);
    });
  });

  it('changes the time exactly with the verdict, and only forwards', () => {
    always(({ before, after, verdicts }) => {
      if (before && after) expect(after.sinceMs).toBeGreaterThanOrEqual(before.sinceMs);
      const changed = before?.ready !== after?.ready;
      if (after) expect(after.sinceMs).toBe(changed ? (verdicts.length - 1) * 1000 : before?.sinceMs);
    });
  });

  it('never loses a verdict once it has one', () => {
    always(({ before, after }) => {
      if (before) expect(after).toBeDefined();
    });
  });

  it('shows evidence of the kind that the verdict rests on', () => {
    always(({ after }) => {
      if (after) expect(after.evidence.startsWith('healthy')).toBe(after.ready);
    });
  });
});
