import { WATCHED } from '@rollcall/common/watched-resources.ts';
import { expect, test } from 'vitest';
import type { LabelSelector } from '../model/label-selector.ts';
import { type HoldingPod, observeHoldingPod } from '../state/holds/holding-pod.ts';
import { PodCollection } from '../state/pod-collection.ts';
import { MemoryApi, podObject, podsPath } from './memory-api.test-fixtures.ts';
import { podParts } from './pod-parts.ts';
import { ResourceWatch } from './resource-watch.ts';

const CI = podsPath('ci');

type Wanted = { namespace: string; selector: LabelSelector };

/** A watch of the pods that are wanted; this replica is ready without those of namespaces that it does not need. */
function podWatches(isNeeded: (namespace: string) => boolean = () => true) {
  const api = new MemoryApi();
  const index = new PodCollection<HoldingPod>({ lostIsUnknown: true });
  let wanted: readonly Wanted[] = [];
  const parts = () =>
    podParts(wanted, observeHoldingPod).map((part) => ({ ...part, isNeeded: isNeeded(part.namespace) }));
  const watches = new ResourceWatch({ watched: WATCHED.pods, store: index, parts }, api.shared);
  const want = (next: readonly Wanted[]) => {
    wanted = next;
    watches.update();
  };
  const settle = () => api.clock.advance(0);
  const on = (node: string) => index.on(node).map(({ name }) => name);
  return { api, index, watches, want, settle, on };
}

const app = (value: string, namespace = 'ci') => ({ namespace, selector: { matchLabels: { app: value } } });

test('nothing is asked for before it runs', async () => {
  const { api, watches, want, settle } = podWatches();
  want([app('a')]);
  await settle();
  expect(api.lists).toEqual([]);
  void watches.run();
  await settle();
  expect(api.watched()).toEqual([CI]);
});

test('each namespace is watched once, for all that is wanted there', async () => {
  const { api, watches, want, settle } = podWatches();
  void watches.run();
  want([app('a'), app('b'), app('a'), app('a', 'other')]);
  await settle();
  expect(api.watched()).toEqual([CI, podsPath('other')]);
  expect(api.lists).toHaveLength(2);
  expect(api.selectorsOf(CI)).toEqual({ labelSelector: 'app in (a,b)' });
  expect(api.selectorsOf(podsPath('other'))).toEqual({ labelSelector: 'app=a' });
});

test('where no single selector fits, all pods are watched, and unwanted pods are on no node', async () => {
  const { api, watches, want, settle, on } = podWatches();
  api.collections.set(CI, [podObject('a', { app: 'a' }), podObject('b', { tier: 'b' }), podObject('c', { app: 'c' })]);
  const tier: LabelSelector = { matchLabels: { tier: 'b' } };
  void watches.run();
  want([app('a'), { namespace: 'ci', selector: tier }]);
  await settle();
  expect(api.selectorsOf(CI)).toEqual({});
  expect(on('n1')).toEqual(['a', 'b']);
});

test('a watch goes on while the same pods are wanted, in whatever order', async () => {
  const { api, watches, want, settle } = podWatches();
  void watches.run();
  want([app('a'), app('b')]);
  await settle();
  want([app('b'), app('a'), app('b')]);
  await settle();
  expect(api.lists).toHaveLength(1);
  expect(api.watched()).toEqual([CI]);
});

test('where other pods are wanted one watch takes the place of the other, which leaves its pods until then', async () => {
  const { api, index, watches, want, settle, on } = podWatches();
  api.collections.set(CI, [podObject('a', { app: 'a' })]);
  void watches.run();
  want([app('a')]);
  await settle();
  api.collections.set(CI, [podObject('b', { app: 'b' })]);
  want([app('b')]);
  expect(on('n1')).toEqual(['a']);
  expect([index.isKnown('ci'), watches.isSynced]).toEqual([false, true]);
  await settle();
  expect(on('n1')).toEqual(['b']);
  expect([index.isKnown('ci'), watches.isSynced]).toEqual([true, true]);
  expect(api.watched()).toEqual([CI]);
});

test('a namespace that was listed stays so while one watch takes the place of another', async () => {
  const { watches, want, settle } = podWatches();
  void watches.run();
  want([app('a')]);
  want([app('b')]);
  expect(watches.isSynced).toBe(false);
  await settle();
  want([app('c')]);
  want([app('d')]);
  expect(watches.isSynced).toBe(true);
});

test('a namespace where nothing is wanted any more is not watched, and its pods are gone', async () => {
  const { api, index, watches, want, settle, on } = podWatches();
  api.collections.set(CI, [podObject('a', { app: 'a' })]);
  api.collections.set(podsPath('other'), [podObject('b', { app: 'a' }, 'n1', 'other')]);
  void watches.run();
  want([app('a'), app('a', 'other')]);
  await settle();
  want([app('a', 'other')]);
  await settle();
  expect(api.watched()).toEqual([podsPath('other')]);
  expect(on('n1')).toEqual(['b']);
  expect([index.isKnown('ci'), index.isKnown('other')]).toEqual([false, true]);
  want([app('a'), app('a', 'other')]);
  await settle();
  expect(on('n1')).toEqual(['b', 'a']);
});

test('a list that comes when its watch was stopped is not taken in', async () => {
  const { api, watches, want, settle, on } = podWatches();
  const answer = Promise.withResolvers<void>();
  api.delayed.set(CI, answer.promise);
  api.collections.set(CI, [podObject('old', { app: 'a' })]);
  void watches.run();
  want([app('a')]);
  await settle();
  api.delayed.clear();
  api.collections.set(CI, [podObject('new', { app: 'a' })]);
  want([app('a'), app('b')]);
  await settle();
  answer.resolve();
  await settle();
  expect(on('n1')).toEqual(['new']);
});

test('the program stops all watches', async () => {
  const { api, watches, want, settle } = podWatches();
  void watches.run();
  want([app('a'), app('a', 'other')]);
  await settle();
  api.stop.abort();
  await settle();
  expect(api.watched()).toEqual([]);
});

test('pods that are not watched are not waited for, and pods that are, until their first list', async () => {
  const { watches, want, settle } = podWatches();
  void watches.run();
  expect([watches.isSynced, watches.isCurrent, watches.problemOf('ci')]).toEqual([true, true, undefined]);
  want([app('a')]);
  expect(watches.isSynced).toBe(false);
  await settle();
  expect([watches.isSynced, watches.isCurrent, watches.problemOf('ci')]).toEqual([true, true, undefined]);
});

test('people are told what to do where pods may not be watched, and of nothing else', async () => {
  const { api, watches, want, settle } = podWatches();
  api.refused.set(CI, 403).set(podsPath('other'), 500);
  void watches.run();
  want([app('a'), app('a', 'other')]);
  await settle();
  expect(watches.problemOf('ci')).toBe(
    'The coordinator may not watch the pods in ci: add ci to watchNamespaces in the chart, or grant it the verbs list ' +
      'and watch on these pods',
  );
  expect(watches.problemOf('other')).toBeUndefined();
  expect(watches.isCurrent).toBe(false);
});

test('pods that may not be watched are asked for every 30 s, and soon where this replica needs them', async () => {
  const { api, watches, want } = podWatches((namespace) => namespace === 'ci');
  api.refused.set(CI, 403).set(podsPath('other'), 403);
  void watches.run();
  want([app('a'), app('a', 'other')]);
  await api.clock.advance(29_999);
  expect(api.listed(podsPath('other'))).toBe(1);
  expect(api.listed(CI)).toBeGreaterThan(5);
  await api.clock.advance(1);
  expect(api.listed(podsPath('other'))).toBe(2);
});

test('a change of a label that no selector names changes nothing', async () => {
  const { api, index, watches, want, settle } = podWatches();
  api.collections.set(CI, [podObject('a', { app: 'a', stamp: '1' })]);
  void watches.run();
  want([app('a')]);
  await settle();
  const before = index.on('n1');
  const changed = podObject('a', { app: 'a', stamp: '2' });
  api.tell(CI, 'MODIFIED', { ...changed, metadata: { ...changed.metadata, resourceVersion: '11' } });
  await settle();
  expect(index.on('n1')).toBe(before);
});
