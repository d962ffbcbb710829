import { beforeEach, describe, expect, test } from 'vitest';
import type { Collection, ObjectChange } from './collection.ts';
import {
  countingSet,
  createPoolLabelSets,
  type ObservedPoolLabelSet,
  observePoolLabelSet,
  type PoolLabelKind,
  proposedSets,
} from './pool-label-sets.ts';

let sets: Collection<ObservedPoolLabelSet>;
let changed: string[][];
beforeEach(() => {
  changed = [];
  sets = createPoolLabelSets();
  const tell = (changes: readonly ObjectChange<ObservedPoolLabelSet>[]) => {
    if (changes.length > 0)
      changed.push(changes.map(({ previous, next }) => `${previous?.pool ?? ''}>${next?.pool ?? ''}`));
  };
  sets.onChange({ changed: tell, listed: tell });
});

const KIND = 'NodePoolLabels' as const;
const listed = (kind: PoolLabelKind = KIND) => sets.handlers(kind);
const upsert = (one: ObservedPoolLabelSet) => listed(one.kind).onUpsert(one);
const of = (pool: string) => countingSet(sets.on(pool));

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
    for (const each of order) upsert(each);
    expect(of('p')).toBe(older);
    listed().onDelete(older);
    expect(of('p')).toBe(newer);
    listed().onDelete(newer);
    expect(of('p')).toBeUndefined();
  });

  test('of the same second, the first by name counts', () => {
    listed().onReplace([set('b', { pool: 'p' }), set('a', { pool: 'p' })]);
    expect(of('p')?.name).toBe('a');
  });
});

describe('of the two kinds', () => {
  const SET = 'NodePoolLabelSet' as const;
  const older = set('p', { kind: SET, labels: { a: 'set' } });
  const newer = set('p', { createdAt: '2026-01-02T00:00:00Z' });

  test('the oldest object counts for a pool, and a list of one kind takes away nothing of the other', () => {
    listed(KIND).onReplace([newer]);
    listed(SET).onReplace([older]);
    expect(of('p')).toBe(older);
    listed(KIND).onReplace([newer]);
    listed(KIND).onDelete(newer);
    expect(of('p')).toBe(older);
    listed(KIND).onUpsert(newer);
    listed(SET).onReplace([]);
    expect(of('p')).toBe(newer);
    expect([[...sets.all(KIND)], [...sets.all(SET)]]).toEqual([[newer], []]);
  });

  test.each([[[KIND, SET]], [[SET, KIND]]])('of the same second and name, the NodePoolLabelSet counts: %s', (kinds) => {
    for (const kind of kinds) upsert(set('p', { kind }));
    expect(of('p')?.kind).toBe(SET);
  });

  test('each has its own status', () => {
    upsert(older);
    upsert(newer);
    upsert({ ...older, status: 1 });
    upsert({ ...newer, status: 2 });
    expect([...sets.all()].map(({ kind, status }) => [kind, status])).toEqual([
      [SET, 1],
      [KIND, 2],
    ]);
  });
});

describe('it is told', () => {
  test('of the pools of sets that came, changed, moved or went, and of no others', () => {
    listed().onReplace([set('a'), set('b')]);
    upsert(set('a', { generation: 2, labels: {} }));
    upsert(set('a', { generation: 3, pool: 'elsewhere' }));
    listed().onReplace([set('a', { generation: 3, pool: 'elsewhere' })]);
    listed().onReplace([set('a', { generation: 3, pool: 'elsewhere' })]);
    listed().onDelete(set('a'));
    listed().onDelete(set('a'));
    expect(changed).toEqual([['>a', '>b'], ['a>a'], ['a>elsewhere'], ['b>'], ['elsewhere>']]);
  });

  test('of a set that was created anew under the same name', () => {
    upsert(set('a'));
    listed().onReplace([set('a', { uid: 'other', labels: { b: '1' } })]);
    expect(of('a')?.labels).toEqual({ b: '1' });
    expect(changed).toHaveLength(2);
  });

  test('nothing where the status alone differs, which is kept', () => {
    upsert(set('a'));
    upsert(set('a', { status: { nodesMatched: 1 } }));
    expect(changed).toHaveLength(1);
    expect(of('a')?.status).toEqual({ nodesMatched: 1 });
  });
});

describe('sets with others that are proposed', () => {
  const old = set('old', { pool: 'p', createdAt: '2026-01-01T00:00:00Z' });
  const late = set('late', { pool: 'p', createdAt: '2026-01-03T00:00:00Z' });

  test('have those that are there as well, which stay as they are', () => {
    listed().onReplace([old, set('q')]);
    const proposed = proposedSets(sets, [late]);
    expect([proposed('p'), proposed('q')?.name, proposed('none'), proposed(undefined)]).toEqual([
      ...[old, 'q', undefined, undefined],
    ]);
    expect(sets.size).toBe(2);
  });

  test('have one in the place of what it changes, as old as that is', () => {
    listed().onReplace([old, late]);
    const proposed = proposedSets(sets, [{ ...old, createdAt: '2026-01-09T00:00:00Z', labels: { b: '1' } }]);
    expect(proposed('p')).toEqual({ ...old, generation: 2, labels: { b: '1' } });
    expect(of('p')).toBe(old);
  });
});
