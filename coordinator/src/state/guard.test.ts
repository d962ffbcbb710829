import { expect, test } from 'vitest';
import { Census, FLEET_GUARD, Guard, isShared, type Member, ruleOf } from './guard.ts';

const NO_POOLS = new Map();

test.each([
  // It acts from 55 % on, until fewer than 40 % are left.
  { guardPercent: 55, steps: [5, 6, 4, 3], acts: [false, true, true, false] },
  // A guard that acts from 30 % on does not clear at once.
  { guardPercent: 30, steps: [2, 3, 3, 2], acts: [false, true, true, false] },
  // Two are no disruption.
  { guardPercent: 20, steps: [2, 3, 0], acts: [false, true, false] },
])('a guard at $guardPercent % acts and clears with the share of nodes that lose', ({ guardPercent, steps, acts }) => {
  const guard = new Guard(ruleOf('agents', guardPercent));
  const seen = steps.map((losing) => {
    guard.decide({ fleet: { size: 10, losing }, pools: new Map([['gold', { size: 10, losing }]]) });
    return guard.held().map(({ of }) => of);
  });
  expect(seen).toEqual(acts.map((isActing) => (isActing ? [FLEET_GUARD, 'pool gold'] : [])));
});

test('a subject without a share at which it clears ends below the one at which it begins', () => {
  const guard = new Guard(ruleOf('target', 55));
  const seen = [5, 6, 5].map((losing) => {
    guard.decide({ fleet: { size: 10, losing }, pools: NO_POOLS });
    return guard.held();
  });
  expect(seen).toEqual([[], [{ of: FLEET_GUARD, nodes: 6 }], []]);
});

test.each([0, 1, 2])('a group of %i has no guard, also where it had one', (size) => {
  const guard = new Guard(ruleOf('agents', 55));
  const [small, three] = [
    { size, losing: size },
    { size: 3, losing: 3 },
  ];
  guard.decide({ fleet: three, pools: new Map([['gold', three]]) });
  expect(guard.held().map(({ of }) => of)).toEqual([FLEET_GUARD, 'pool gold']);
  guard.decide({ fleet: small, pools: new Map([['gold', small]]) });
  expect(guard.held()).toEqual([]);
});

test('the guard of a pool keeps only its nodes, and that of the fleet every node', () => {
  const guard = new Guard(ruleOf('agents', 55));
  const [well, lost] = [
    { size: 10, losing: 0 },
    { size: 3, losing: 3 },
  ];
  guard.decide({ fleet: well, pools: new Map([['gold', lost]]) });
  expect([undefined, 'gold', 'silver'].map((pool) => guard.of(pool))).toEqual([undefined, 'pool gold', undefined]);
  guard.decide({ fleet: lost, pools: NO_POOLS });
  expect([undefined, 'gold'].map((pool) => guard.of(pool))).toEqual([FLEET_GUARD, FLEET_GUARD]);
});

test('the loss of a node that was kept, and is kept no longer, begins anew', () => {
  const guard = new Guard(ruleOf('target', 55));
  const renewed: number[] = [];
  const members = Array.from({ length: 5 }, (_, at): Member => {
    const renew = () => void renewed.push(at);
    return { pool: undefined, counts: 'always', isLosing: at < 3, memory: {}, renew };
  });
  guard.judge(members);
  expect([members.map(({ memory }) => memory.guard), renewed]).toEqual([members.map(() => FLEET_GUARD), []]);
  const fewer = members.map((member, at) => ({ ...member, isLosing: at < 2 }));
  guard.judge(fewer);
  expect([fewer.map(({ memory }) => memory.guard), renewed]).toEqual([fewer.map(() => undefined), [0, 1, 2, 3, 4]]);
  guard.judge(fewer);
  expect(renewed).toHaveLength(5);
});

test('nodes count in their pool and in the fleet', () => {
  const census = new Census();
  for (const isLosing of [false, true]) census.add('gold', 'always', isLosing);
  census.add(undefined, 'always', true);
  census.add('silver', 'always', false);
  census.add('gold', 'while-no-other', true);
  census.add('gold', 'never', true);
  expect(census.fleet).toEqual({ size: 4, losing: 2 });
  const pools = { gold: { size: 2, losing: 1 }, silver: { size: 1, losing: 0 } };
  expect(Object.fromEntries(census.pools)).toEqual(pools);
});

test('nodes that count while no other does count in the fleet alone', () => {
  const census = new Census();
  for (const isLosing of [false, true]) census.add('gold', 'while-no-other', isLosing);
  expect([census.fleet, census.pools.size]).toEqual([{ size: 2, losing: 1 }, 0]);
});

test.each([
  { size: 3, losing: 2, is: false },
  { size: 6, losing: 3, is: false },
  { size: 5, losing: 3, is: true },
])(
  'agents of another version are at fault where $losing of $size nodes lose something: $is',
  ({ is, ...population }) => {
    expect(isShared(ruleOf('agent-version'), population)).toBe(is);
  },
);
