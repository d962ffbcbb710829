import { expect, test } from 'vitest';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import type { Service, SingleCheck } from '../../model/services.ts';
import { nodeRecord } from '../../state/node-record.test-fixtures.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import { csiNode, snapshot } from './readiness.test-fixtures.ts';
import { ReadinessTracker, readinessOf } from './tracker.ts';

const HOUR = 3_600_000;
const LABEL = 'service.rollcall.dev/x';

/** A check that a driver is registered, which counts as passed for an hour after it began to fail. */
const registered = (driver: string): SingleCheck => ({
  name: driver,
  id: `s/${driver}`,
  kind: 'csiNode',
  settings: { driver, graceMs: HOUR },
});

const lists = (...drivers: string[]): Partial<NodeSnapshot> => csiNode(drivers);

/** One term of a leader, which evaluates one node. */
function termOf(change: Partial<Service>, undecided?: () => string | undefined, isReported = () => true) {
  const service = serviceOf('x', { publish: { label: LABEL }, ...change });
  const observer = { sees: () => {}, heldUntilMs: () => undefined, record: () => {} };
  const tracker = new ReadinessTracker({
    services: () => [service],
    observer,
    isReported,
    ...(undecided ? { undecided: () => undecided } : {}),
  });
  const record = nodeRecord();
  return (nowMs: number, node: Partial<NodeSnapshot>) => {
    const now = { monotonicMs: nowMs, wallMs: nowMs };
    const judgements = tracker.judge(record, snapshot(node), now);
    tracker.record(record, snapshot(node), judgements, now);
    return readinessOf(judgements).get('x');
  };
}

test('a check that never passed has no grace after a take-over because another of its anyOf passed', () => {
  const b: SingleCheck = { name: 'b', id: 's/b', kind: 'csiNode', settings: { driver: 'b' } };
  const either = { name: 'either', kind: 'anyOf', checks: [registered('a'), b] } as const;
  const judge = termOf({ checks: [either] });
  const published = { ownedLabels: new Set([LABEL]), labels: { [LABEL]: 'true' } };
  // The leader before saw b alone, for as long as the node exists.
  expect(judge(0, { ...published, ...lists('b') })?.state).toBe('ready');
  expect(judge(1000, { ...published, ...lists() })?.state).toBe('not-ready');
});

test('a grace does not begin on a node that is selected again, where the check has failed meanwhile', () => {
  const judge = termOf({ checks: [registered('a')], nodeSelector: { matchLabels: { env: 'prod' } } });
  expect(judge(0, { labels: { env: 'prod' }, ...lists('a') })?.state).toBe('ready');
  expect(judge(1000, { ...lists('a') })).toBeUndefined();
  expect(judge(2000, { ...lists() })).toBeUndefined();
  expect(judge(10 * HOUR, { labels: { env: 'prod' }, ...lists() })?.state).toBe('not-ready');
});

test('a grace that is under way goes on where it was unknown for a moment whether the service is for the node', () => {
  let unknown: string | undefined;
  const judge = termOf({ checks: [registered('a')], nodeSelector: { matchLabels: { gpu: 'true' } } }, () => unknown);
  const gpu = { labels: { gpu: 'true' } };
  expect(judge(0, { ...gpu, ...lists('a') })?.state).toBe('ready');
  expect(judge(1000, { ...gpu, ...lists() })?.state).toBe('ready');
  unknown = 'the agent has not said it yet';
  expect(judge(2000, { ...lists() })?.state).toBe('unknown');
  unknown = undefined;
  expect(judge(3000, { ...gpu, ...lists() })?.state).toBe('ready');
});

test('after a take-over a check has its grace once it is known that the service is for the node', () => {
  let unknown: string | undefined = 'the agent has not said it yet';
  const judge = termOf({ checks: [registered('a')], nodeSelector: { matchLabels: { gpu: 'true' } } }, () => unknown);
  const published = { ownedLabels: new Set([LABEL]) };
  expect(judge(0, { ...published, labels: { [LABEL]: 'true' }, ...lists() })?.state).toBe('unknown');
  unknown = undefined;
  expect(judge(1000, { ...published, labels: { [LABEL]: 'true', gpu: 'true' }, ...lists() })?.state).toBe('ready');
});

test('a check of a service that was edited while no replica led has no grace before it passed', () => {
  let isReported = false;
  const judge = termOf({ checks: [registered('new')] }, undefined, () => isReported);
  const published = { ownedLabels: new Set([LABEL]), labels: { [LABEL]: 'true' } };
  expect(judge(0, { ...published, ...lists('old') })?.state).toBe('not-ready');
  // This term reports of it, too.
  isReported = true;
  expect(judge(1000, { ...published, ...lists('old') })?.state).toBe('not-ready');
  expect(judge(2000, { ...published, ...lists('new') })?.state).toBe('ready');
  expect(judge(3000, { ...published, ...lists('old') })?.state).toBe('ready');
});

test('a node that is evaluated for the first time after the edit has no grace by what this term reported itself', () => {
  let isReported = false;
  const service = serviceOf('x', { publish: { label: LABEL }, checks: [registered('new')] });
  const observer = { sees: () => {}, heldUntilMs: () => undefined, record: () => {} };
  const tracker = new ReadinessTracker({ services: () => [service], observer, isReported: () => isReported });
  const published = snapshot({ ownedLabels: new Set([LABEL]), labels: { [LABEL]: 'true' }, ...lists('old') });
  const evaluate = (name: string) => {
    const now = { monotonicMs: 0, wallMs: 0 };
    const [record, judgements] = [nodeRecord(name), tracker.judge(nodeRecord(name), published, now)];
    tracker.record(record, published, judgements, now);
    return readinessOf(judgements).get('x')?.state;
  };
  expect(evaluate('first')).toBe('not-ready');
  isReported = true;
  expect(evaluate('second')).toBe('not-ready');
});

test.each([
  ['lost its label, and waits for the taint, has no grace', { label: LABEL }, false],
  ['has been freed of the taint has one, of a service without a label', {}, true],
])('after a take-over a node that %s', (_what, more, hasGrace) => {
  const taint = { key: 'example.com/no-x', value: '', effect: 'NoSchedule' } as const;
  const origin = { kind: 'object', uid: 'x', generation: 1, createdAtMs: 0 } as const;
  const judge = termOf({ checks: [registered('a')], publish: { taint, ...more }, origin });
  const annotations = { 'rollcall.dev/services-started': '{"node":"u","services":{"x":"x:1"}}' };
  const { state } = judge(0, { annotations, taints: [], ...lists() }) ?? {};
  expect(state).toBe(hasGrace ? 'ready' : 'not-ready');
});
