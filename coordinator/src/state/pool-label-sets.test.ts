import { beforeEach, describe, expect, test } from 'vitest';
import {
  type ObservedPoolLabelSet,
  observePoolLabelSet,
  type PoolLabelKind,
  PoolLabelSets,
} from './pool-label-sets.ts';

let sets: PoolLabelSets;
let changed: string[][];
beforeEach(() => {
  changed = [];
  sets = new PoolLabelSets((pools) => changed.push([...pools].sort()));
});

const KIND = 'NodePoolLabels' as const;
const A = { kind: KIND, name: 'a' } as const;
const listed = (kind: PoolLabelKind = KIND) => sets.ofKind(kind);

function set(name: string, more: Partial<ObservedPoolLabelSet> = {}): ObservedPoolLabelSet {
  const createdAt = '2026-01-01T00:00:00Z';
  const base = {
    kind: KIND,
    uid: name,
    name,
    namespace: 'rollcall',
    generation: 1,
    createdAt,
    pool: name,
    labels: { a: name },
  };
  return { ...base, status: undefined, ...more };
}

describe('the pool of a set', () => {
  const metadata = { name: 'gold', namespace: 'rollcall', uid: 'u', resourceVersion: '1', generation: 3 };
  test('is named by the set itself, or by spec.pool', () => {
    expect(observePoolLabelSet('NodePoolLabels', { metadata, spec: { labels: {} } })).toMatchObject({
      pool: 'gold',
      generation: 3,
    });
    expect(observePoolLabelSet('NodePoolLabels', { metadata, spec: { pool: 'Gold_1', labels: {} } }).pool).toBe(
      'Gold_1',
    );
    expect(observePoolLabelSet('NodePoolLabels', { metadata, spec: { pool: '', labels: {} } }).pool).toBe('gold');
  });

  test('that has no spec asks for nothing', () => {
    expect(observePoolLabelSet('NodePoolLabels', { metadata })).toMatchObject({ pool: 'gold', labels: {} });
    const { generation, ...bare } = metadata;
    expect(observePoolLabelSet('NodePoolLabels', { metadata: bare }).generation).toBe(0);
  });
});

describe('of several sets for one pool', () => {
  const older = set('z', { pool: 'p', createdAt: '2026-01-01T00:00:00Z' });
  const newer = set('a', { pool: 'p', createdAt: '2026-01-02T00:00:00Z' });

  test.each([[[older, newer]], [[newer, older]]])('the oldest counts, in whatever order they come', (order) => {
    for (const each of order) sets.upsert(each);
    expect(sets.of('p')).toBe(older);
    listed().remove(older);
    expect(sets.of('p')).toBe(newer);
    listed().remove(newer);
    expect(sets.of('p')).toBeUndefined();
  });

  test('of the same second, the first by name counts', () => {
    listed().replace([set('b', { pool: 'p' }), set('a', { pool: 'p' })]);
    expect(sets.of('p')?.name).toBe('a');
  });
});

describe('of the two kinds', () => {
  const SET = 'NodePoolLabelSet' as const;
  const older = set('p', { kind: SET, labels: { a: 'set' } });
  const newer = set('p', { createdAt: '2026-01-02T00:00:00Z' });

  test('the oldest object counts for a pool, and a list of one kind takes away nothing of the other', () => {
    listed(KIND).replace([newer]);
    listed(SET).replace([older]);
    expect(sets.of('p')).toBe(older);
    listed(KIND).replace([newer]);
    listed(KIND).remove(newer);
    expect(sets.of('p')).toBe(older);
    listed(KIND).upsert(newer);
    listed(SET).replace([]);
    expect(sets.of('p')).toBe(newer);
    expect([sets.all(KIND), sets.all(SET)]).toEqual([[newer], []]);
  });

  test.each([[[KIND, SET]], [[SET, KIND]]])('of the same second and name, the NodePoolLabelSet counts: %s', (kinds) => {
    for (const kind of kinds) sets.upsert(set('p', { kind }));
    expect(sets.of('p')?.kind).toBe(SET);
  });

  test('each has its own status', () => {
    sets.upsert(older);
    sets.upsert(newer);
    sets.noteStatus(older, 1);
    sets.noteStatus(newer, 2);
    expect([sets.statusOf(older), sets.statusOf(newer)]).toEqual([1, 2]);
  });
});

describe('it is told', () => {
  test('of the pools of sets that came, changed, moved or went, and of no others', () => {
    listed().replace([set('a'), set('b')]);
    sets.upsert(set('a', { generation: 2, labels: {} }));
    sets.upsert(set('a', { generation: 3, pool: 'elsewhere' }));
    listed().replace([set('a', { generation: 3, pool: 'elsewhere' })]);
    listed().replace([set('a', { generation: 3, pool: 'elsewhere' })]);
    listed().remove(set('a'));
    listed().remove(set('a'));
    expect(changed).toEqual([['a', 'b'], ['a'], ['a', 'elsewhere'], ['b'], ['elsewhere']]);
  });

  test('of a set that was created anew under the same name', () => {
    sets.upsert(set('a'));
    listed().replace([set('a', { uid: 'other', labels: { b: '1' } })]);
    expect(sets.of('a')?.labels).toEqual({ b: '1' });
    expect(changed).toHaveLength(2);
  });

  test('nothing where the status alone differs, which is kept', () => {
    sets.upsert(set('a'));
    sets.upsert(set('a', { status: { nodesMatched: 1 } }));
    expect(changed).toHaveLength(1);
    expect(sets.statusOf(A)).toEqual({ nodesMatched: 1 });
  });
});

test('a status is forgotten with its set, and not taken for one that is not there', () => {
  sets.upsert(set('a'));
  sets.noteStatus(A, { nodesMatched: 1 });
  expect(sets.statusOf(A)).toEqual({ nodesMatched: 1 });
  listed().remove(set('a'));
  expect(sets.statusOf(A)).toBeUndefined();
  sets.noteStatus(A, { nodesMatched: 2 });
  expect(sets.statusOf(A)).toBeUndefined();
  sets.upsert(set('a', { uid: 'other' }));
  expect(sets.statusOf(A)).toBeUndefined();
});

test('a node without a pool has no set', () => {
  sets.upsert(set('a'));
  expect(sets.of(undefined)).toBeUndefined();
});

describe('sets with others that are proposed', () => {
  const old = set('old', { pool: 'p', createdAt: '2026-01-01T00:00:00Z' });
  const late = set('late', { pool: 'p', createdAt: '2026-01-03T00:00:00Z' });

  test('have those that are there as well, which stay as they are', () => {
    listed().replace([old, set('q')]);
    const proposed = sets.with([late]);
    expect(proposed.all(KIND).map(({ name }) => name)).toEqual(['old', 'q', 'late']);
    expect([proposed.of('p'), sets.all(KIND).length]).toEqual([old, 2]);
  });

  test('have one in the place of what it changes, as old as that is', () => {
    listed().replace([old, late]);
    const proposed = sets.with([{ ...old, createdAt: '2026-01-09T00:00:00Z', labels: { b: '1' } }]);
    expect(proposed.of('p')).toEqual({ ...old, generation: 2, labels: { b: '1' } });
    expect(sets.of('p')).toBe(old);
  });
});
