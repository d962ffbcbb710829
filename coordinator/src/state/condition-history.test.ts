import { expect, test } from 'vitest';
import { lastingOf, withHistory } from './condition-history.ts';
import type { ObservedCondition } from './observed-conditions.ts';
import type { ObservedNode } from './observed-node.ts';

const WALL_MS = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => ({ monotonicMs: seconds * 1000, wallMs: WALL_MS + seconds * 1000 });
const time = (seconds: number) => new Date(at(seconds).wallMs).toISOString();

type Written = { status?: string; since?: number | null; beat?: number };

function node(written: Written | 'none' | 'unwatched', uid = 'u'): ObservedNode {
  const { status = 'True', since = -600, beat } = typeof written === 'string' ? {} : written;
  const condition: ObservedCondition = {
    type: 'KernelHealthy',
    status,
    reason: '',
    message: '',
    lastTransitionTime: since === null ? null : time(since),
    index: 0,
    ...(beat === undefined ? {} : { heartbeatMs: at(beat).wallMs }),
  };
  return {
    ...{ name: 'n', uid, resourceVersion: '1', createdAtMs: at(-3600).wallMs, labels: {}, annotations: {} },
    ...{ owned: { labels: new Set(), annotations: new Set() }, inherited: new Set() },
    conditions: written === 'unwatched' ? undefined : written === 'none' ? [] : [condition],
  };
}

/** A Node as it is known after it was seen like this, second by second. */
function seen(...steps: [seconds: number, written: Parameters<typeof node>[0], uid?: string][]) {
  let known: ObservedNode | undefined;
  for (const [seconds, written, uid] of steps) known = withHistory(known, node(written, uid), at(seconds));
  const [condition] = known?.conditions ?? [];
  return {
    lasting: (seconds: number, forMs = 20_000) =>
      condition && lastingOf(condition, forMs, known as ObservedNode, at(seconds)).state,
    heartbeatSeenMs: condition?.history?.heartbeatSeenMs,
  };
}

test('a writer that restarts the time of an unchanged status takes nothing of what was seen', () => {
  expect(seen([0, {}], [1, { since: 1 }]).lasting(1)).toBe('yes');
  expect(seen([0, { since: null }], [30, { since: 30 }]).lasting(30)).toBe('yes');
  expect(seen([0, {}], [1, { since: 3600 }], [2, { since: null }]).lasting(2)).toBe('yes');
});

test('a status that was seen to change is as old as that, or as its writer says if that is older', () => {
  expect(seen([0, {}], [1, { status: 'False', since: 1 }], [2, { since: 2 }]).lasting(21.9)).toBe('no');
  expect(seen([0, {}], [1, { status: 'False', since: 1 }], [2, { since: 2 }]).lasting(22)).toBe('yes');
  expect(seen([0, 'none'], [2, { since: 2 }]).lasting(3)).toBe('no');
  expect(seen([0, 'none'], [2, { since: -100 }]).lasting(2)).toBe('yes');
  expect(seen([0, 'none'], [2, { since: 3600 }]).lasting(22)).toBe('yes');
});

test('one whose beginning was not seen may be older than its writer says, and lasts from when it was seen', () => {
  for (const before of [
    [],
    [[0, 'unwatched']] as [number, 'unwatched'][],
    [[0, {}, 'old']] as [number, Written, string][],
  ]) {
    const found = seen(...before, [2, { since: 2 }]);
    expect([found.lasting(3), found.lasting(22)]).toEqual(['unknown', 'yes']);
  }
  expect(seen([2, { since: 2 }]).lasting(3, 2 * 3600_000)).toBe('no');
});

test('a heartbeat is as old as it was first seen', () => {
  expect(seen([0, { beat: 3600 }], [5, { beat: 3600 }]).heartbeatSeenMs).toBe(0);
  expect(seen([0, { beat: 0 }], [5, { beat: 5 }]).heartbeatSeenMs).toBe(5000);
});
