import { beforeEach, describe, expect, test } from 'vitest';
import { type ObservedPoolLabelSet, observePoolLabelSet, PoolLabelSets } from './pool-label-sets.ts';

let sets: PoolLabelSets;
let changed: string[][];
beforeEach(() => {
  changed = [];
  sets = new PoolLabelSets((pools) => changed.push([...pools].sort()));
});

function set(name: string, more: Partial<ObservedPoolLabelSet> = {}): ObservedPoolLabelSet {
  const createdAt = '2026-01-01T00:00:00Z';
  const base = { uid: name, name, namespace: 'rollcall', generation: 1, createdAt, pool: name, labels: { a: name } };
  return { ...base, status: undefined, ...more };
}

describe('the pool of a set', () => {
  const metadata = { name: 'gold', namespace: 'rollcall', uid: 'u', resourceVersion: '1', generation: 3 };
  test('is named by the set itself, or by spec.pool', () => {
    expect(observePoolLabelSet({ metadata, spec: { labels: {} } })).toMatchObject({ pool: 'gold', generation: 3 });
    expect(observePoolLabelSet({ metadata, spec: { pool: 'Gold_1', labels: {} } }).pool).toBe('Gold_1');
    expect(observePoolLabelSet({ metadata, spec: { pool: '', labels: {} } }).pool).toBe('gold');
  });

  test('that has no spec asks for nothing', () => {
    expect(observePoolLabelSet({ metadata })).toMatchObject({ pool: 'gold', labels: {} });
    const { generation, ...bare } = metadata;
    expect(observePoolLabelSet({ metadata: bare }).generation).toBe(0);
  });
});

describe('of several sets for one pool', () => {
  const older = set('z', { pool: 'p', createdAt: '2026-01-01T00:00:00Z' });
  const newer = set('a', { pool: 'p', createdAt: '2026-01-02T00:00:00Z' });

  test.each([[[older, newer]], [[newer, older]]])('the oldest counts, in whatever order they come', (order) => {
    for (const each of order) sets.upsert(each);
    expect(sets.of('p')).toBe(older);
    sets.remove(older);
    expect(sets.of('p')).toBe(newer);
    sets.remove(newer);
    expect(sets.of('p')).toBeUndefined();
  });

  test('of the same second, the first by name counts', () => {
    sets.replace([set('b', { pool: 'p' }), set('a', { pool: 'p' })]);
    expect(sets.of('p')?.name).toBe('a');
  });
});

describe('it is told', () => {
  test('of the pools of sets that came, changed, moved or went, and of no others', () => {
    sets.replace([set('a'), set('b')]);
    sets.upsert(set('a', { generation: 2, labels: {} }));
    sets.upsert(set('a', { generation: 3, pool: 'elsewhere' }));
    sets.replace([set('a', { generation: 3, pool: 'elsewhere' })]);
    sets.replace([set('a', { generation: 3, pool: 'elsewhere' })]);
    sets.remove({ name: 'a' });
    sets.remove({ name: 'a' });
    expect(changed).toEqual([['a', 'b'], ['a'], ['a', 'elsewhere'], ['b'], ['elsewhere']]);
  });

  test('of a set that was created anew under the same name', () => {
    sets.upsert(set('a'));
    sets.replace([set('a', { uid: 'other', labels: { b: '1' } })]);
    expect(sets.of('a')?.labels).toEqual({ b: '1' });
    expect(changed).toHaveLength(2);
  });

  test('nothing where the status alone differs, which is kept', () => {
    sets.upsert(set('a'));
    sets.upsert(set('a', { status: { nodesMatched: 1 } }));
    expect(changed).toHaveLength(1);
    expect(sets.statusOf('a')).toEqual({ nodesMatched: 1 });
  });
});

test('a status is forgotten with its set, and not taken for one that is not there', () => {
  sets.upsert(set('a'));
  sets.noteStatus('a', { nodesMatched: 1 });
  expect(sets.statusOf('a')).toEqual({ nodesMatched: 1 });
  sets.remove({ name: 'a' });
  expect(sets.statusOf('a')).toBeUndefined();
  sets.noteStatus('a', { nodesMatched: 2 });
  expect(sets.statusOf('a')).toBeUndefined();
  sets.upsert(set('a', { uid: 'other' }));
  expect(sets.statusOf('a')).toBeUndefined();
});

test('a node without a pool has no set', () => {
  sets.upsert(set('a'));
  expect(sets.of(undefined)).toBeUndefined();
});

describe('sets with others that are proposed', () => {
  const old = set('old', { pool: 'p', createdAt: '2026-01-01T00:00:00Z' });
  const late = set('late', { pool: 'p', createdAt: '2026-01-03T00:00:00Z' });

  test('have those that are there as well, which stay as they are', () => {
    sets.replace([old, set('q')]);
    const proposed = sets.with([late]);
    expect([...proposed.all()].map(({ name }) => name)).toEqual(['old', 'q', 'late']);
    expect([proposed.of('p'), [...sets.all()].length]).toEqual([old, 2]);
  });

  test('have one in the place of what it changes, as old as that is', () => {
    sets.replace([old, late]);
    const proposed = sets.with([{ ...old, createdAt: '2026-01-09T00:00:00Z', labels: { b: '1' } }]);
    expect(proposed.of('p')).toEqual({ ...old, generation: 2, labels: { b: '1' } });
    expect(sets.of('p')).toBe(old);
  });
});
