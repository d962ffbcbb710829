import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fleet } from './fleet.ts';
import { noCounts, stateOfNode } from './node-state.ts';
import { summary } from './summary.test-fixtures.ts';

const DOWN = { services: { a: 'not-ready' } } as const;

test('a fleet groups nodes by pool in the order of their names, with nodes of no pool last', () => {
  const fleet = new Fleet();
  fleet.replace([
    summary('n10', { pool: 'b' }),
    summary('n9', { pool: 'b' }),
    summary('x'),
    summary('y', { pool: 'a' }),
  ]);
  expect(fleet.pools()).toEqual([
    { name: 'a', nodes: ['y'] },
    { name: 'b', nodes: ['n9', 'n10'] },
    { name: '', nodes: ['x'] },
  ]);
});

test('the order of cells is the same array until a node comes, goes or changes its pool', () => {
  const fleet = new Fleet();
  fleet.replace([summary('a', { pool: 'p' }), summary('b', { pool: 'p' })]);
  const before = fleet.pools();
  fleet.set(summary('a', { pool: 'p', ...DOWN }));
  expect(fleet.pools()).toBe(before);
  fleet.set(summary('a', { pool: 'q' }));
  expect(fleet.pools()).not.toBe(before);
});

test('a list replaces what was, and names what is gone', () => {
  const fleet = new Fleet();
  fleet.replace([summary('a'), summary('b')]);
  expect(fleet.replace([summary('b', DOWN), summary('c')])).toEqual(['a']);
  expect([...fleet.nodes()].map(({ name }) => name)).toEqual(['b', 'c']);
  expect(fleet.counts).toMatchObject({ ready: 1, 'not-ready': 1 });
});

test('the counts match the nodes, whatever happened to them', () => {
  const deed = fc.record({
    name: fc.constantFrom('a', 'b', 'c', '__proto__'),
    change: fc.constantFrom({}, DOWN, { services: {} }, { agent: 'silent' as const }, undefined),
  });
  fc.assert(
    fc.property(fc.array(deed), (deeds) => {
      const fleet = new Fleet();
      for (const { name, change } of deeds) {
        if (change) fleet.set(summary(name, change));
        else fleet.delete(name);
        const counts = noCounts();
        for (const node of fleet.nodes()) counts[stateOfNode(node)] += 1;
        expect(fleet.counts).toEqual(counts);
        expect(fleet.pools().flatMap(({ nodes }) => nodes)).toHaveLength(fleet.size);
      }
    }),
  );
});

test('a node is found by its name, as it was told last', () => {
  const fleet = new Fleet();
  fleet.set(summary('a'));
  fleet.set(summary('a', DOWN));
  expect(fleet.node('a')).toEqual(summary('a', DOWN));
  expect(fleet.node('b')).toBeUndefined();
  expect(fleet.size).toBe(1);
});

test('a node that goes leaves its pool', () => {
  const fleet = new Fleet();
  fleet.replace([summary('a', { pool: 'p' }), summary('b', { pool: 'p' })]);
  expect(fleet.pools()).toEqual([{ name: 'p', nodes: ['a', 'b'] }]);
  const before = fleet.pools();
  fleet.delete('none');
  expect(fleet.pools()).toBe(before);
  fleet.delete('a');
  expect(fleet.pools()).toEqual([{ name: 'p', nodes: ['b'] }]);
  fleet.set(summary('c', { pool: 'p' }));
  expect(fleet.pools()).toEqual([{ name: 'p', nodes: ['b', 'c'] }]);
});
