import { expect, test } from 'vitest';
import { FLEET_GUARD, SilenceGuards } from './guard.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';
import type { Stage } from './presence.ts';

/** Nodes that are all expected to report. `overdue` makes so many of them overdue, and tells whom guards release. */
function fleetOf(count: number, guardPercent: number) {
  const guards = new SilenceGuards(guardPercent);
  const records = Array.from({ length: count }, (_, index) => nodeRecord(`n${index}`, `u${index}`));
  const move = (index: number, stage: Stage) => {
    const record = records[index];
    if (!record) throw new Error(`There is no node ${index}`);
    const before = { ...record.presence };
    record.presence.stage = stage;
    guards.moved(record, before);
  };
  const overdue = (wanted: number) => {
    for (const index of records.keys()) move(index, index < wanted ? 'overdue' : 'waiting');
    return guards.evaluate();
  };
  overdue(0);
  return { guards, overdue };
}

test.each([
  // It holds from 55 % on, until fewer than 40 % are left.
  { guardPercent: 55, steps: [5, 6, 4, 3], holds: [false, true, true, false] },
  // A guard that holds from 30 % on does not clear at once.
  { guardPercent: 30, steps: [2, 3, 3, 2], holds: [false, true, true, false] },
  // Two are no disruption.
  { guardPercent: 20, steps: [2, 3, 0], holds: [false, true, false] },
])(
  'the guard at $guardPercent % holds and clears with the share of overdue nodes',
  ({ guardPercent, steps, holds }) => {
    const { guards, overdue } = fleetOf(10, guardPercent);
    const seen = steps.map((wanted) => {
      overdue(wanted);
      return guards.active().includes(FLEET_GUARD);
    });
    expect(seen).toEqual(holds);
  },
);

test('one node that is alone is all of them', () => {
  const { guards, overdue } = fleetOf(1, 55);
  overdue(1);
  expect(guards.active()).toEqual([FLEET_GUARD]);
  expect(guards.population).toEqual({ expected: 1, overdue: 1 });
});

test('who is overdue still when a guard clears is released', () => {
  const { overdue } = fleetOf(10, 55);
  expect(overdue(6)).toEqual([]);
  expect(overdue(3).map(({ name }) => name)).toEqual(['n0', 'n1', 'n2']);
});
