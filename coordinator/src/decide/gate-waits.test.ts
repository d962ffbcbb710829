import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { nodeRecord } from '../state/node-record.test-fixtures.ts';
import { GateWaits } from './gate-waits.ts';

const OTHER = { key: 'example.com/other', effect: 'NoSchedule' } as const;
const STARTUP = { key: STARTUP_TAINT, effect: 'NoSchedule' } as const;

/** A node behind the gate that is first seen at 1,000 ms, ten seconds old by the wall clock. */
function gated(cameMs?: number) {
  const waits = new GateWaits([{ ms: 60_000, news: 'over' }]);
  const record = nodeRecord('n', 'u', cameMs === undefined ? {} : { cameMs });
  expect(waits.waitedMs(record, 10_000, 1000)).toBe(cameMs === undefined ? 10_000 : 1000 - cameMs);
  waits.observe(record, { taints: [OTHER, STARTUP] }, { ageMs: 10_000, nowMs: 1000 });
  return { waits, record };
}

test('a node behind the gate is due once it has waited as long as it may, and is told once', () => {
  const { waits, record } = gated();
  expect(waits.due(50_999)).toEqual([]);
  expect(waits.due(51_000)).toEqual([{ name: 'n', news: 'over' }]);
  expect(waits.waitedMs(record, 0, 51_000)).toBe(60_000);
  expect(waits.due(100_000)).toEqual([]);
});

test('a node that the process saw come is due as long after that, whatever its age by the wall clock', () => {
  const { waits, record } = gated(1000);
  expect(waits.waitedMs(record, 1_000_000, 60_999)).toBe(59_999);
  expect(waits.due(60_999)).toEqual([]);
  expect(waits.due(61_000)).toEqual([{ name: 'n', news: 'over' }]);
});

test('a node that is not born yet by the wall clock waits from when it was first seen', () => {
  const waits = new GateWaits([{ ms: 60_000, news: 'over' }]);
  const record = nodeRecord();
  expect(waits.waitedMs(record, -5000, 0)).toBe(0);
  waits.observe(record, { taints: [STARTUP] }, { ageMs: -5000, nowMs: 0 });
  expect(waits.waitedMs(record, -5000, 60_000)).toBe(60_000);
});

test('a node without the taint of the gate, or whose taints are unknown, is never due', () => {
  const { waits, record } = gated();
  waits.observe(record, { taints: [OTHER] }, { ageMs: 0, nowMs: 0 });
  expect(waits.due(100_000)).toEqual([]);
  waits.observe(record, { taints: [STARTUP] }, { ageMs: 0, nowMs: 0 });
  waits.observe(record, { taints: undefined }, { ageMs: 0, nowMs: 0 });
  expect(waits.due(100_000)).toEqual([]);
});

test('a node that is gone is not due, neither in time nor later', () => {
  const { waits, record } = gated();
  record.ended = true;
  expect(waits.due(0)).toEqual([]);
  record.ended = false;
  expect(waits.due(100_000)).toEqual([]);
  waits.observe(record, { taints: [STARTUP] }, { ageMs: 0, nowMs: 0 });
  record.ended = true;
  expect(waits.due(100_000)).toEqual([]);
});

test('a node is told once of each moment that its wait reaches', () => {
  const waits = new GateWaits([{ ms: 60_000, news: 'over' }, { ms: 10_000 }, { ms: 5000, news: 'half' }]);
  const record = nodeRecord('n', 'u', { cameMs: 0 });
  const seen = () => waits.observe(record, { taints: [STARTUP] }, { ageMs: 0, nowMs: 0 });
  seen();
  const times = [4999, 5000, 9000, 10_000, 59_999, 60_000, 90_000];
  const due = times.flatMap((nowMs) => {
    seen();
    return waits.due(nowMs).map(({ news }) => [nowMs, news]);
  });
  expect(due).toEqual([
    [5000, 'half'],
    [10_000, undefined],
    [60_000, 'over'],
  ]);
});
