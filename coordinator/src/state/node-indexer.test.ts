import { describe, expect, test } from 'vitest';
import { NodeIndexer } from './node-indexer.ts';
import { type ObservedPod, observePod } from './observed-pod.ts';
import { observeWorkspace } from './observed-workspace.ts';

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
  const pods = new NodeIndexer<ObservedPod>((previous, next) => changes.push([previous?.uid, next?.uid]));
  return { pods, changes };
}

describe('the index by node', () => {
  test('finds pods by node, and forgets those that are gone', () => {
    const { pods } = index();
    pods.upsert(pod());
    expect(pods.on('a')).toHaveLength(1);
    pods.remove(pod());
    expect(pods.on('a')).toEqual([]);
  });

  test('takes in a list of pods of one node in proportion to their number, also where all of them changed', () => {
    const cpuMsOf = (count: number) => {
      const { pods } = index();
      const all = (ready: boolean) => Array.from({ length: count }, (_, name) => pod({ name: `${name}`, ready }));
      const lists = [all(false), all(true)];
      const before = process.cpuUsage();
      for (const list of lists) pods.replace(list);
      const { user, system } = process.cpuUsage(before);
      expect([pods.on('a').length, pods.countOn('a')]).toEqual([count, count]);
      return (user + system) / 1000;
    };
    cpuMsOf(2000);
    expect(cpuMsOf(20_000)).toBeLessThan(200 * Math.max(1, cpuMsOf(500)));
  });

  test('has each by its name, all of them, and their number', () => {
    const { pods } = index();
    expect([pods.size, pods.get(pod()), [...pods.all()]]).toEqual([0, undefined, []]);
    const [first, second] = [pod(), pod({ name: 'other', uid: 'u2' })];
    pods.replace([first, second]);
    expect([pods.size, pods.get(first), pods.get({ ...first, namespace: 'elsewhere' })]).toEqual([2, first, undefined]);
    expect([...pods.all()]).toEqual([first, second]);
  });

  test('keeps nothing of a pod whose successor of the same name is on another node', () => {
    const { pods, changes } = index();
    pods.upsert(pod());
    pods.replace([pod({ uid: 'u2', node: 'b' })]);
    expect(pods.on('a')).toEqual([]);
    expect(pods.on('b')).toHaveLength(1);
    expect(changes).toEqual([
      [undefined, 'u1'],
      ['u1', 'u2'],
    ]);
  });

  test('says nothing about an event that changes nothing of what is kept', () => {
    const { pods, changes } = index();
    pods.upsert(pod());
    pods.upsert(pod());
    expect(changes).toHaveLength(1);
  });

  test('finds an object that moved where it is now, and says that it left where it was', () => {
    const { pods, changes } = index();
    pods.upsert(pod());
    pods.upsert(pod({ node: 'b' }));
    expect([pods.on('a').length, pods.on('b').length]).toEqual([0, 1]);
    pods.upsert(pod({ node: '' }));
    expect([...pods.all()]).toEqual([]);
    expect(changes).toEqual([
      [undefined, 'u1'],
      ['u1', 'u1'],
      ['u1', undefined],
    ]);
  });

  test('reports a successor before it reports that the predecessor is gone', () => {
    const { pods, changes } = index();
    pods.upsert(pod({ name: 'old' }));
    pods.replace([pod({ name: 'new', uid: 'u2' })]);
    expect(changes.slice(1)).toEqual([
      [undefined, 'u2'],
      ['u1', undefined],
    ]);
  });

  test('tells nothing of one that goes and was not there', () => {
    const { pods, changes } = index();
    pods.remove(pod());
    expect(changes).toEqual([]);
  });

  test('leaves out pods that are not bound to a node', () => {
    const { pods } = index();
    pods.upsert(pod({ node: '' }));
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
