import { expect, test } from 'vitest';
import type { LabelSelector } from '../model/label-selector.ts';
import { type HoldingPod, observeHoldingPod } from '../state/holds/holding-pod.ts';
import { PodsByNamespace } from '../state/pods-by-namespace.ts';
import { MemoryApi, podObject, podsPath } from './memory-api.test-fixtures.ts';
import { PodWatches, unlessStopped } from './pod-watches.ts';

const CI = podsPath('ci');

function podWatches(isNeeded?: (namespace: string) => boolean) {
  const api = new MemoryApi();
  const index = new PodsByNamespace<HoldingPod>({ lostIsUnknown: true });
  const watches = new PodWatches<HoldingPod>({
    ...api.shared,
    index,
    observe: observeHoldingPod,
    ...(isNeeded ? { isNeeded } : {}),
  });
  const settle = () => api.clock.advance(0);
  const on = (node: string) => index.on(node).map(({ name }) => name);
  return { api, index, watches, settle, on };
}

const app = (value: string, namespace = 'ci') => ({ namespace, selector: { matchLabels: { app: value } } });

test('nothing is asked for before it runs', async () => {
  const { api, watches, settle } = podWatches();
  watches.want([app('a')]);
  await settle();
  expect(api.lists).toEqual([]);
  watches.run();
  await settle();
  expect(api.watched()).toEqual([CI]);
});

test('each namespace is watched once, for all that is wanted there', async () => {
  const { api, watches, settle } = podWatches();
  watches.run();
  watches.want([app('a'), app('b'), app('a'), app('a', 'other')]);
  await settle();
  expect(api.watched()).toEqual([CI, podsPath('other')]);
  expect(api.lists).toHaveLength(2);
  expect(api.selectorsOf(CI)).toEqual({ labelSelector: 'app in (a,b)' });
  expect(api.selectorsOf(podsPath('other'))).toEqual({ labelSelector: 'app=a' });
});

test('where no single selector fits, all pods are watched, and unwanted pods are on no node', async () => {
  const { api, watches, settle, on } = podWatches();
  api.collections.set(CI, [podObject('a', { app: 'a' }), podObject('b', { tier: 'b' }), podObject('c', { app: 'c' })]);
  const tier: LabelSelector = { matchLabels: { tier: 'b' } };
  watches.run();
  watches.want([app('a'), { namespace: 'ci', selector: tier }]);
  await settle();
  expect(api.selectorsOf(CI)).toEqual({});
  expect(on('n1')).toEqual(['a', 'b']);
});

test('a watch goes on while the same pods are wanted, in whatever order', async () => {
  const { api, watches, settle } = podWatches();
  watches.run();
  watches.want([app('a'), app('b')]);
  await settle();
  watches.want([app('b'), app('a'), app('b')]);
  await settle();
  expect(api.lists).toHaveLength(1);
  expect(api.watched()).toEqual([CI]);
});

test('where other pods are wanted one watch takes the place of the other, which leaves its pods until then', async () => {
  const { api, index, watches, settle, on } = podWatches();
  api.collections.set(CI, [podObject('a', { app: 'a' })]);
  watches.run();
  watches.want([app('a')]);
  await settle();
  api.collections.set(CI, [podObject('b', { app: 'b' })]);
  watches.want([app('b')]);
  expect(on('n1')).toEqual(['a']);
  expect([index.knows('ci'), watches.wasSynced('ci')]).toEqual([false, true]);
  await settle();
  expect(on('n1')).toEqual(['b']);
  expect([index.knows('ci'), watches.wasSynced('ci')]).toEqual([true, true]);
  expect(api.watched()).toEqual([CI]);
});

test('a namespace that was listed stays so while one watch takes the place of another', async () => {
  const { watches, settle } = podWatches();
  watches.run();
  watches.want([app('a')]);
  watches.want([app('b')]);
  expect(watches.wasSynced('ci')).toBe(false);
  await settle();
  watches.want([app('c')]);
  watches.want([app('d')]);
  expect(watches.wasSynced('ci')).toBe(true);
});

test('a namespace where nothing is wanted any more is not watched, and its pods are gone', async () => {
  const { api, index, watches, settle, on } = podWatches();
  api.collections.set(CI, [podObject('a', { app: 'a' })]);
  api.collections.set(podsPath('other'), [podObject('b', { app: 'a' }, 'n1', 'other')]);
  watches.run();
  watches.want([app('a'), app('a', 'other')]);
  await settle();
  watches.want([app('a', 'other')]);
  await settle();
  expect(api.watched()).toEqual([podsPath('other')]);
  expect(on('n1')).toEqual(['b']);
  expect([index.knows('ci'), index.knows('other')]).toEqual([false, true]);
  watches.want([app('a'), app('a', 'other')]);
  await settle();
  expect(on('n1')).toEqual(['b', 'a']);
});

test('a list that comes when its watch was stopped is not taken in', async () => {
  const { api, watches, settle, on } = podWatches();
  const answer = Promise.withResolvers<void>();
  api.delayed.set(CI, answer.promise);
  api.collections.set(CI, [podObject('old', { app: 'a' })]);
  watches.run();
  watches.want([app('a')]);
  await settle();
  api.delayed.clear();
  api.collections.set(CI, [podObject('new', { app: 'a' })]);
  watches.want([app('a'), app('b')]);
  await settle();
  answer.resolve();
  await settle();
  expect(on('n1')).toEqual(['new']);
});

test('the program stops all watches', async () => {
  const { api, watches, settle } = podWatches();
  watches.run();
  watches.want([app('a'), app('a', 'other')]);
  await settle();
  api.stop.abort();
  await settle();
  expect(api.watched()).toEqual([]);
});

test('pods that are not watched are not waited for, and pods that are, until their first list', async () => {
  const { watches, settle } = podWatches();
  watches.run();
  expect([watches.wasSynced('ci'), watches.isFailing('ci'), watches.problemOf('ci')]).toEqual([true, false, undefined]);
  watches.want([app('a')]);
  expect(watches.wasSynced('ci')).toBe(false);
  await settle();
  expect([watches.wasSynced('ci'), watches.isFailing('ci'), watches.problemOf('ci')]).toEqual([true, false, undefined]);
});

test('people are told what to do where pods may not be watched, and of nothing else', async () => {
  const { api, watches, settle } = podWatches();
  api.refused.set(CI, 403).set(podsPath('other'), 500);
  watches.run();
  watches.want([app('a'), app('a', 'other')]);
  await settle();
  expect(watches.problemOf('ci')).toBe(
    'The coordinator may not watch the pods in ci: add ci to watchNamespaces in the chart, or grant it the verbs list ' +
      'and watch on these pods',
  );
  expect(watches.problemOf('other')).toBeUndefined();
  expect([watches.isFailing('ci'), watches.isFailing('other')]).toEqual([true, true]);
});

test('pods that may not be watched are asked for every 30 s, and soon where this replica needs them', async () => {
  const { api, watches } = podWatches((namespace) => namespace === 'ci');
  api.refused.set(CI, 403).set(podsPath('other'), 403);
  watches.run();
  watches.want([app('a'), app('a', 'other')]);
  await api.clock.advance(29_999);
  expect(api.listed(podsPath('other'))).toBe(1);
  expect(api.listed(CI)).toBeGreaterThan(5);
  await api.clock.advance(1);
  expect(api.listed(podsPath('other'))).toBe(2);
});

test('handlers hear nothing more when their watch was stopped', () => {
  const stop = new AbortController();
  const heard: unknown[] = [];
  const handlers = unlessStopped<string>(
    {
      onReplace: (all) => heard.push(all),
      onUpsert: (one) => heard.push(`put ${one}`),
      onDelete: (one) => heard.push(`gone ${one}`),
      onLost: () => heard.push('lost'),
    },
    stop.signal,
  );
  const all = () => {
    handlers.onReplace(['a']);
    handlers.onUpsert('b');
    handlers.onDelete('c');
    handlers.onLost?.();
  };
  all();
  expect(heard.splice(0)).toEqual([['a'], 'put b', 'gone c', 'lost']);
  stop.abort();
  all();
  expect(heard).toEqual([]);
});

test('handlers that go on with an old picture do not hear of a loss', () => {
  const nothing = () => {};
  const handlers = unlessStopped(
    { onReplace: nothing, onUpsert: nothing, onDelete: nothing },
    new AbortController().signal,
  );
  expect(handlers.onLost).toBeUndefined();
});

test('a change of a label that no selector names changes nothing', async () => {
  const { api, index, watches, settle } = podWatches();
  api.collections.set(CI, [podObject('a', { app: 'a', stamp: '1' })]);
  watches.run();
  watches.want([app('a')]);
  await settle();
  const before = [index.revision, index.on('n1')];
  const changed = podObject('a', { app: 'a', stamp: '2' });
  api.tell(CI, 'MODIFIED', { ...changed, metadata: { ...changed.metadata, resourceVersion: '11' } });
  await settle();
  expect([index.revision, index.on('n1')]).toEqual(before);
});
