import { expect, test } from 'vitest';
import type { ConditionCheck } from '../../model/services.ts';
import type { ObservedCondition } from '../../state/observed-conditions.ts';
import { conditionVerdict } from './condition-verdict.ts';
import { pod, snapshot } from './readiness.test-fixtures.ts';

const CHECK: ConditionCheck = {
  name: 'kernel',
  kind: 'condition',
  id: 'npd/kernel',
  settings: { type: 'KernelHealthy', status: 'True', missing: 'Unknown' },
};
const REPORTER = { namespace: 'kube-system', selector: { matchLabels: { app: 'npd' } } };
const SINCE = '2026-01-01T00:00:00Z';
const NOW_MS = Date.parse(SINCE) + 600_000;

function condition(change: Partial<ObservedCondition> = {}): ObservedCondition {
  return {
    type: 'KernelHealthy',
    status: 'True',
    reason: '',
    message: '',
    lastTransitionTime: SINCE,
    index: 0,
    ...change,
  };
}

function npd(ready: boolean) {
  return pod({ namespace: 'kube-system', name: 'npd-1', labels: { app: 'npd' }, ready });
}

type Given = { check?: Partial<ConditionCheck['settings']>; monotonicMs?: number } & Parameters<typeof snapshot>[0];

function verdict({ check = {}, monotonicMs = 0, ...change }: Given) {
  const settings = { ...CHECK.settings, ...check };
  return conditionVerdict({ ...CHECK, settings }, snapshot({ conditions: [condition()], ...change }), {
    monotonicMs,
    wallMs: NOW_MS,
  });
}

test('passes with the healthy status and fails with any other, by evidence, and says whose it is and since when', () => {
  expect(verdict({})).toMatchObject({ state: 'ready', cause: 'evidence' });
  const conditions = [condition({ status: 'False', reason: 'Oops', message: 'task hung' })];
  const conditionWriters = new Map([['KernelHealthy', 'node-problem-detector']]);
  expect(verdict({ conditions, conditionWriters })).toEqual({
    state: 'not-ready',
    cause: 'evidence',
    reason: `the condition KernelHealthy is False since ${SINCE}, written by node-problem-detector (Oops: task hung)`,
  });
  expect(verdict({ conditions, check: { status: 'False' } }).state).toBe('ready');
  expect(verdict({ conditions: [condition({ status: 'Unknown' })] }).state).toBe('not-ready');
});

test.each([
  ['Unknown', 'unknown', 'unknown'],
  ['Pass', 'ready', 'evidence'],
  ['Fail', 'not-ready', 'evidence'],
] as const)('a missing condition with missing: %s is %s', (missing, state, cause) => {
  expect(verdict({ conditions: [], check: { missing } })).toMatchObject({ state, cause });
});

test('is unknown while the conditions, or the pods of the reporter, are not known', () => {
  expect(verdict({ conditions: undefined })).toMatchObject({ state: 'unknown' });
  expect(verdict({ check: { reporter: REPORTER }, podsKnown: () => false })).toMatchObject({ state: 'unknown' });
});

test('passes only once it was so for long enough', () => {
  const isNew = { seenMs: 0, isNew: true, sinceMs: Date.parse(SINCE), heartbeatSeenMs: 0 };
  const conditions = [condition({ history: isNew })];
  expect(verdict({ check: { forMs: 600_000 }, conditions }).state).toBe('ready');
  expect(verdict({ check: { forMs: 600_001 }, conditions })).toMatchObject({
    state: 'not-ready',
    cause: 'evidence',
    reason: expect.stringContaining('it must be so for 600.001 s, which it will be at 2026-01-01T00:10:00'),
  });
  expect(
    verdict({ check: { forMs: 1 }, conditions: [condition({ history: { ...isNew, sinceMs: undefined } })] }).state,
  ).toBe('not-ready');
});

test('is unknown whether one whose beginning was not seen has lasted, unless the Node is younger', () => {
  const conditions = [condition({ history: { seenMs: 0, isNew: false, sinceMs: NOW_MS, heartbeatSeenMs: 0 } })];
  const at = (monotonicMs: number, createdAtMs = 0) =>
    verdict({ check: { forMs: 20_000 }, conditions, monotonicMs, createdAtMs }).state;
  expect([at(0), at(19_999), at(20_000)]).toEqual(['unknown', 'unknown', 'ready']);
  expect(at(0, NOW_MS - 19_999)).toBe('not-ready');
});

const check = { reporter: REPORTER };

test('a reporter that is Ready on the node vouches for what it wrote, be it good or bad', () => {
  expect(verdict({ check, pods: [npd(true)] }).state).toBe('ready');
  const conditions = [condition({ status: 'False' })];
  expect(verdict({ check, pods: [npd(true)], conditions })).toMatchObject({ state: 'not-ready', cause: 'evidence' });
});

test.each([
  ['is not Ready', [npd(false)], 'its reporter kube-system/npd-1 is not Ready'],
  ['is not there', [], 'no pod of its reporter is on the node'],
])(
  'nothing that a condition says counts while its reporter %s: unknown for the window, then silence',
  (_name, pods, why) => {
    const at = (monotonicMs: number, sinceMs: number | undefined, guard?: string) =>
      verdict({ check, pods, monotonicMs, doubt: () => ({ sinceMs, guard }), silenceMs: 30_000 });
    const reason = `nothing vouches for the condition KernelHealthy: ${why}`;
    expect(at(100_000, undefined)).toEqual({ state: 'unknown', cause: 'unknown', reason });
    expect(at(129_999, 100_000)).toEqual({ state: 'unknown', cause: 'unknown', reason });
    expect(at(130_000, 100_000)).toEqual({ state: 'not-ready', cause: 'silence', reason });
    expect(at(130_000, 100_000, 'fleet')).toMatchObject({
      state: 'unknown',
      reason: expect.stringContaining('guard: fleet'),
    });
  },
);

test('a heartbeat that is too old, or none at all, vouches for nothing', () => {
  const aged = (heartbeatMs?: number) =>
    verdict({
      check: { maxHeartbeatAgeMs: 60_000 },
      conditions: [condition(heartbeatMs === undefined ? {} : { heartbeatMs })],
      doubt: () => ({ sinceMs: 0 }),
      monotonicMs: 30_000,
      silenceMs: 30_000,
    });
  expect(aged(NOW_MS - 60_000).state).toBe('ready');
  expect(aged(NOW_MS - 60_001)).toMatchObject({ state: 'not-ready', cause: 'silence' });
  expect(aged()).toMatchObject({ cause: 'silence', reason: expect.stringContaining('it has no heartbeat') });
});
