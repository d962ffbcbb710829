import { expect, test } from 'vitest';
import { Census, FLEET_GUARD, SilenceGuards } from './guard.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';
import type { Presence } from './presence.ts';

const NO_POOLS = new Map();

test.each([
  // It holds from 55 % on, until fewer than 40 % are left.
  { guardPercent: 55, steps: [5, 6, 4, 3], holds: [false, true, true, false] },
  // A guard that holds from 30 % on does not clear at once.
  { guardPercent: 30, steps: [2, 3, 3, 2], holds: [false, true, true, false] },
  // Two are no disruption.
  { guardPercent: 20, steps: [2, 3, 0], holds: [false, true, false] },
])('a guard at $guardPercent % holds and clears with the share of overdue nodes', ({ guardPercent, steps, holds }) => {
  const guards = new SilenceGuards(guardPercent);
  const seen = steps.map((overdue) => {
    const pools = new Map([['gold', { expected: 10, overdue }]]);
    guards.decide({ fleet: { expected: 10, overdue }, pools });
    return guards.held().map(({ of }) => of);
  });
  expect(seen).toEqual(holds.map((held) => (held ? [FLEET_GUARD, 'pool gold'] : [])));
});

test.each([0, 1, 2])('a group of %i has no guard, also where it had one', (size) => {
  const guards = new SilenceGuards(55);
  const small = { expected: size, overdue: size };
  const three = { expected: 3, overdue: 3 };
  guards.decide({ fleet: three, pools: new Map([['gold', three]]) });
  expect(guards.held().map(({ of }) => of)).toEqual([FLEET_GUARD, 'pool gold']);
  guards.decide({ fleet: small, pools: new Map([['gold', small]]) });
  expect(guards.held().map(({ of }) => of)).toEqual([]);
});

test('the guard of a pool covers only its nodes, and the guard of the fleet covers every node', () => {
  const guards = new SilenceGuards(55);
  const well = { expected: 10, overdue: 0 };
  guards.decide({ fleet: well, pools: new Map([['gold', { expected: 3, overdue: 3 }]]) });
  expect([undefined, 'gold', 'silver'].map((pool) => guards.of(pool))).toEqual([undefined, 'pool gold', undefined]);
  guards.decide({ fleet: { expected: 3, overdue: 3 }, pools: NO_POOLS });
  expect([undefined, 'gold'].map((pool) => guards.of(pool))).toEqual([FLEET_GUARD, FLEET_GUARD]);
});

function censusOf(...counted: [presence: Partial<Presence>, isOverdue: boolean][]) {
  const census = new Census();
  for (const [presence, isOverdue] of counted) census.add(nodeRecord('n', 'u', { presence }).presence, isOverdue);
  return { fleet: census.fleet, pools: Object.fromEntries(census.pools) };
}

test('nodes count that are expected and were heard, in their pool and in the fleet', () => {
  const heard = { pool: 'gold', wasHeard: true, expectedMs: 0 };
  const census = censusOf(
    [heard, false],
    [heard, true],
    [{ ...heard, pool: undefined }, true],
    [{ ...heard, pool: 'silver' }, false],
    [{ ...heard, wasHeard: false }, true],
    [{ ...heard, expectedMs: undefined }, true],
  );
  expect(census.fleet).toEqual({ expected: 4, overdue: 2 });
  expect(census.pools).toEqual({ gold: { expected: 2, overdue: 1 }, silver: { expected: 1, overdue: 0 } });
});

test('the fleet counts all that are expected while none of them was ever heard, and a pool none', () => {
  const never = { pool: 'gold', expectedMs: 0 };
  expect(censusOf([never, true], [never, false])).toEqual({ fleet: { expected: 2, overdue: 1 }, pools: {} });
});
