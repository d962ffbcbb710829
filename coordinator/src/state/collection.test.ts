import { describe, expect, test } from 'vitest';
import { Collection, hasSameFields, type Kept, type ObjectChange } from './collection.ts';
import { type ObservedPod, observePod } from './observed-pod.ts';
import { observeWorkspace } from './observed-workspace.ts';
import { createPoolLabelSets, observePoolLabelSet, POOL_LABEL_KINDS } from './pool-label-sets.ts';

/** Equal labels are one object, as `observePod` sees to. */
const TOLERATIONS: readonly never[] = [];
const LABELS = { component: 'ws-daemon' };
function pod(change: Partial<ObservedPod> = {}): ObservedPod {
  const base = {
    uid: 'u1',
    namespace: 'default',
    name: 'ws-daemon',
    labels: LABELS,
    daemonSet: '',
    tolerations: TOLERATIONS,
    node: 'a',
  };
  return {
    ...base,
    ready: true,
    terminating: false,
    podIP: '10.0.0.1',
    hostIP: '',
    startTime: '',
    readySinceMs: 0,
    createdAtMs: 0,
    ...change,
  };
}

function index() {
  const changes: [string | undefined, string | undefined][] = [];
  const pods = new Collection<ObservedPod>({ at: ({ node }) => node, isSame: hasSameFields });
  const tell = (all: readonly ObjectChange<ObservedPod>[]) => {
    for (const { previous, next } of all) changes.push([previous?.uid, next?.uid]);
  };
  pods.onChange({ changed: tell, listed: tell });
  const { onReplace: replace, onUpsert: upsert, onDelete: remove } = pods.handlers();
  return { pods, changes, replace, upsert, remove };
}

describe('the index by node', () => {
  test('finds pods by node, and forgets those that are gone', () => {
    const { pods, upsert, remove } = index();
    upsert(pod());
    expect(pods.on('a')).toHaveLength(1);
    remove(pod());
    expect(pods.on('a')).toEqual([]);
  });

  test('takes in a list of pods of one node in proportion to their number, also where all of them changed', () => {
    const cpuMsOf = (count: number) => {
      const { pods, replace } = index();
      const all = (ready: boolean) => Array.from({ length: count }, (_, name) => pod({ name: `${name}`, ready }));
      const lists = [all(false), all(true)];
      const before = process.cpuUsage();
      for (const list of lists) replace(list);
      const { user, system } = process.cpuUsage(before);
      expect([pods.on('a').length, pods.countOn('a')]).toEqual([count, count]);
      return (user + system) / 1000;
    };
    cpuMsOf(2000);
    expect(cpuMsOf(20_000)).toBeLessThan(200 * Math.max(1, cpuMsOf(500)));
  });

  test('has each by its name, all of them, and their number', () => {
    const { pods, replace } = index();
    expect([pods.size, pods.get(pod()), [...pods.all()]]).toEqual([0, undefined, []]);
    const [first, second] = [pod(), pod({ name: 'other', uid: 'u2' })];
    replace([first, second]);
    expect([pods.size, pods.get(first), pods.get({ ...first, namespace: 'elsewhere' })]).toEqual([2, first, undefined]);
    expect([...pods.all()]).toEqual([first, second]);
  });

  test('keeps nothing of a pod whose successor of the same name is on another node', () => {
    const { pods, changes, replace, upsert } = index();
    upsert(pod());
    replace([pod({ uid: 'u2', node: 'b' })]);
    expect(pods.on('a')).toEqual([]);
    expect(pods.on('b')).toHaveLength(1);
    expect(changes).toEqual([
      [undefined, 'u1'],
      ['u1', 'u2'],
    ]);
  });

  test('says nothing about an event that changes nothing of what is kept', () => {
    const { changes, upsert } = index();
    upsert(pod());
    upsert(pod());
    expect(changes).toHaveLength(1);
  });

  test('finds an object that moved where it is now, and says that it left where it was', () => {
    const { pods, changes, upsert } = index();
    upsert(pod());
    upsert(pod({ node: 'b' }));
    expect([pods.on('a').length, pods.on('b').length]).toEqual([0, 1]);
    upsert(pod({ node: '' }));
    expect([...pods.all()]).toEqual([]);
    expect(changes).toEqual([
      [undefined, 'u1'],
      ['u1', 'u1'],
      ['u1', undefined],
    ]);
  });

  test('reports a successor before it reports that the predecessor is gone', () => {
    const { changes, replace, upsert } = index();
    upsert(pod({ name: 'old' }));
    replace([pod({ name: 'new', uid: 'u2' })]);
    expect(changes.slice(1)).toEqual([
      [undefined, 'u2'],
      ['u1', undefined],
    ]);
  });

  test('tells nothing of one that goes and was not there', () => {
    const { changes, remove } = index();
    remove(pod());
    expect(changes).toEqual([]);
  });

  test('leaves out pods that are not bound to a node', () => {
    const { pods, upsert } = index();
    upsert(pod({ node: '' }));
    expect([...pods.all()]).toEqual([]);
  });
});

test('a pod is ready by its condition, and terminating by its deletion timestamp', () => {
  const metadata = { name: 'p', uid: 'u', resourceVersion: '1', deletionTimestamp: '2026-01-01T00:00:00Z' };
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  expect(observePod({ metadata, status })).toMatchObject({ ready: true, terminating: true, node: '' });
  expect(observePod({ metadata })).toMatchObject({ ready: false });
});

test('a workspace is on the node that its status names, whatever else it says', () => {
  const metadata = { name: 'w', namespace: 'default', uid: 'u', resourceVersion: '1' };
  expect(observeWorkspace({ metadata })).toMatchObject({ node: '' });
  expect(observeWorkspace({ metadata, status: { runtime: null } })).toMatchObject({ node: '' });
  const deleted = { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  expect(observeWorkspace({ metadata: deleted, status: { runtime: { nodeName: 'a' } } })).toMatchObject({ node: 'a' });
});

type Thing = Kept & { place: string; value?: object };

function things(lostIsUnknown = false) {
  const all = new Collection<Thing>({ at: ({ place }) => place, lostIsUnknown });
  const told: string[] = [];
  const names = (changes: readonly ObjectChange<Thing>[]) =>
    changes.map(({ previous, next }) => `${previous?.name ?? ''}>${next?.name ?? ''}`).join();
  all.onChange({
    changed: (changes) => told.push(names(changes)),
    listed: (changes, isNews) => told.push(`${isNews ? 'news' : 'list'} ${names(changes)}`),
  });
  const thing = (name: string, change: Partial<Thing> = {}): Thing => ({ uid: name, name, place: 'p', ...change });
  return { all, told, thing };
}

describe('a part of a collection', () => {
  test('is known once it was listed, by itself', () => {
    const { all, told, thing } = things();
    expect([all.known('a'), all.known('b')]).toEqual(['never', 'never']);
    all.handlers('b').onUpsert(thing('early'));
    all.handlers('a').onReplace([thing('x')]);
    expect([all.known('a'), all.known('b'), all.isKnown('a'), all.isKnown('b')]).toEqual([
      ...['listed', 'never', true, false],
    ]);
    all.handlers('a').onReplace([]);
    expect(told).toEqual(['>early', 'news >x', 'list x>']);
    expect([...all.all('a'), ...all.all('b')].map(({ name }) => name)).toEqual(['early']);
  });

  test('that is lost is known no more where an old picture is worse than none, and its objects stay', () => {
    expect(things().all.handlers()).not.toHaveProperty('onLost');
    const { all, told, thing } = things(true);
    const { onReplace, onLost } = all.handlers();
    onReplace([thing('x')]);
    onLost?.();
    expect([all.known(), all.size]).toEqual(['lost', 1]);
    onReplace([thing('x')]);
    expect([all.known(), told]).toEqual(['listed', ['news >x', 'news ']]);
  });

  test('of which others are watched keeps its objects, and is not known until the next list', () => {
    const { all, told, thing } = things();
    all.handlers().onReplace([thing('x')]);
    all.renew();
    expect([all.known(), all.size]).toEqual(['never', 1]);
    all.handlers().onReplace([thing('y')]);
    expect(told).toEqual(['news >x', 'news >y,x>']);
  });

  test('that is no longer watched is empty, and that is news where it was known', () => {
    const { all, told, thing } = things();
    all.handlers('a').onReplace([thing('x')]);
    all.handlers('b').onUpsert(thing('y'));
    for (const part of ['a', 'b', 'c']) all.forget(part);
    expect([all.size, all.known('a'), all.on('p')]).toEqual([0, 'never', []]);
    expect(told).toEqual(['news >x', '>y', 'news x>', 'y>']);
  });
});

describe('an object', () => {
  test('of which the status alone differs stays the same object, with the new status', () => {
    const { all, told, thing } = things();
    const first = thing('x', { value: { a: [1] }, status: 1 });
    all.handlers().onUpsert(first);
    all.handlers().onUpsert(thing('x', { value: { a: [1] }, status: 2 }));
    expect([[...all.all()], told]).toEqual([[{ ...first, status: 2 }], ['>x']]);
    expect(all.get({ name: 'x' })).toBe(first);
    all.handlers().onUpsert(thing('x', { value: { a: [2] }, status: 2 }));
    expect(told).toEqual(['>x', 'x>x']);
  });

  test('keeps the status that was written to it, and another of its name does not get it', () => {
    const { all, thing } = things();
    all.handlers().onReplace([thing('x'), thing('y', { uid: 'other' })]);
    for (const name of ['x', 'y', 'gone']) all.noteStatus({ uid: name, name }, 'written');
    expect([...all.all()].map(({ status }) => status)).toEqual(['written', undefined]);
  });
});

test('a status is noted of the object that it was written to, also where one of another part has the same name', () => {
  const sets = createPoolLabelSets();
  for (const kind of POOL_LABEL_KINDS) {
    const metadata = { uid: kind, namespace: 'pools', name: 'gold', resourceVersion: '1' };
    sets.handlers(kind).onUpsert(observePoolLabelSet(kind, { metadata, spec: { labels: {} } }));
  }
  for (const set of [...sets.all()]) sets.noteStatus(set, { of: set.kind });
  expect([...sets.all()].map(({ status }) => status)).toEqual(POOL_LABEL_KINDS.map((of) => ({ of })));
});
