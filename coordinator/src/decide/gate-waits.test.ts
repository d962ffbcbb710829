import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { nodeRecord } from '../fleet/node-record.test-fixtures.ts';
import type { ObservedNode } from '../fleet/observed-node.ts';
import { GateWaits } from './gate-waits.ts';
import { observed } from './intent/plan-node.test-fixtures.ts';

const OTHER = { key: 'example.com/other', effect: 'NoSchedule' } as const;
const STARTUP = { key: STARTUP_TAINT, effect: 'NoSchedule' } as const;

const node = (taints: ObservedNode['taints']): ObservedNode => ({ ...observed({}), createdAtMs: 1000, taints });

function gated() {
  const waits = new GateWaits(60_000);
  const record = nodeRecord();
  waits.seen(record, node([OTHER, STARTUP]));
  return { waits, record };
}

test('a node behind the gate is due once it is as old as it may wait, and is told once', () => {
  const { waits } = gated();
  expect(waits.due(60_999)).toEqual([]);
  expect(waits.due(61_000)).toEqual(['n']);
  expect(waits.due(100_000)).toEqual([]);
});

test('a node without the taint of the gate, or whose taints nobody knows, is never due', () => {
  const { waits, record } = gated();
  waits.seen(record, node([OTHER]));
  expect(waits.due(100_000)).toEqual([]);
  waits.seen(record, node([STARTUP]));
  waits.seen(record, node(undefined));
  expect(waits.due(100_000)).toEqual([]);
});

test('a node that is gone is not due, neither in time nor later', () => {
  const { waits, record } = gated();
  record.ended = true;
  expect(waits.due(0)).toEqual([]);
  record.ended = false;
  expect(waits.due(100_000)).toEqual([]);
  waits.seen(record, node([STARTUP]));
  record.ended = true;
  expect(waits.due(100_000)).toEqual([]);
});
