import { describe, expect, test } from 'vitest';
import { FLEET_GUARD, SilenceGuards } from './guard.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';
import type { NodeRecord } from './node-record.ts';
import type { Stage } from './presence.ts';

function inPool(name: string, pool: string): NodeRecord {
  const record = nodeRecord(name, `uid-${name}`);
  record.presence.pool = pool;
  return record;
}

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

test('no guard holds where nobody is overdue, also before it is decided', () => {
  const guards = new SilenceGuards(55);
  expect(guards.population).toEqual({ expected: 0, overdue: 0 });
  const record = inPool('n', 'gold');
  guards.moved(record, { ...record.presence, stage: 'absent' });
  expect(guards.active()).toEqual([]);
});

describe('the guard of a pool', () => {
  /** A guard at 30 %, over two nodes that are overdue and two that are not. */
  function halfOverdue() {
    const guards = new SilenceGuards(30);
    const come = (record: NodeRecord, stage: Stage) => {
      const before = { ...record.presence };
      record.presence.stage = stage;
      guards.moved(record, before);
      return record;
    };
    // So many are well elsewhere that the guard of the fleet does not hold.
    for (let index = 0; index < 20; index += 1) come(inPool(`gold-${index}`, 'gold'), 'waiting');
    const stages: Stage[] = ['waiting', 'waiting', 'overdue', 'overdue'];
    const silver = stages.map((stage, index) => come(inPool(`silver-${index}`, 'silver'), stage));
    expect([guards.evaluate(), guards.active()]).toEqual([[], []]);
    return { guards, come, silver };
  }

  test('holds at once when another comes to the pool that is overdue', () => {
    const { guards, come } = halfOverdue();
    const third = come(inPool('third', 'gold'), 'overdue');
    guards.setPool(third, 'silver');
    expect(guards.active()).toEqual(['pool silver']);
    guards.evaluate();
    expect([guards.active(), guards.of(third.presence)]).toEqual([['pool silver'], 'pool silver']);
    come(third, 'waiting');
    guards.evaluate();
    // Two of five are 40 %, and it has begun to hold from 30 % on.
    expect(guards.active()).toEqual(['pool silver']);
  });

  test('releases nobody who has left the pool', () => {
    const { guards, come, silver } = halfOverdue();
    const third = come(inPool('third', 'gold'), 'overdue');
    guards.setPool(third, 'silver');
    guards.setPool(third, 'gold');
    for (const record of silver.slice(2, 3)) come(record, 'waiting');
    expect(guards.evaluate().map(({ name }) => name)).toEqual(['silver-3']);
    expect(guards.active()).toEqual([]);
  });

  test('does not count a node that nobody waits for, whatever pool it is in', () => {
    const { guards, come, silver } = halfOverdue();
    for (const record of silver.slice(0, 2)) come(record, 'absent');
    guards.setPool(inPool('absent', 'gold'), 'silver');
    guards.evaluate();
    // Those two that are overdue are all of them.
    expect([guards.active(), guards.population]).toEqual([['pool silver'], { expected: 22, overdue: 2 }]);
  });
});
