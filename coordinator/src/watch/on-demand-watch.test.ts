import { expect, test } from 'vitest';
import type { OnNode } from '../state/node-indexer.ts';
import { OnDemandObjects } from '../state/on-demand-objects.ts';
import { MemoryApi, podObject } from './memory-api.test-fixtures.ts';
import { OnDemandWatch } from './watches.ts';

const PATH = '/apis/example.com/v1/things';

type Thing = OnNode & { names: readonly string[] };

function askedWatch() {
  const api = new MemoryApi();
  api.collections.set(PATH, [podObject('a', {})]);
  const collection = new OnDemandObjects<Thing>(
    () => {},
    () => {},
  );
  const watch = new OnDemandWatch<Thing>({
    ...api.shared,
    path: PATH,
    collection,
    observe: ({ metadata: { name, uid } }, names) => ({ name, uid, namespace: '', node: 'n1', names }),
  });
  const settle = () => api.clock.advance(0);
  const known = () => collection.on('n1')?.map(({ name, names }) => [name, ...names].join(' '));
  return { api, watch, settle, known };
}

test('nothing is listed before it runs, and nothing while nothing is wanted', async () => {
  const { api, watch, settle, known } = askedWatch();
  watch.want(['x']);
  await settle();
  expect(api.lists).toEqual([]);
  watch.want(undefined);
  watch.run();
  await settle();
  expect(api.lists).toEqual([]);
  expect(known()).toBeUndefined();
});

test('what was asked for before it runs is watched as soon as it does', async () => {
  const { api, watch, settle, known } = askedWatch();
  watch.want(['x']);
  watch.run();
  await settle();
  expect(known()).toEqual(['a x']);
  expect(api.watched()).toEqual([PATH]);
  api.tell(PATH, 'ADDED', podObject('b', {}));
  expect(known()).toEqual(['a x', 'b x']);
});

test('the same names are not listed anew', async () => {
  const { api, watch, settle } = askedWatch();
  watch.run();
  watch.want(['x', 'y']);
  await settle();
  watch.want(['x', 'y']);
  await settle();
  expect(api.lists).toHaveLength(1);
});

test('for other names nothing is known until a new list', async () => {
  const { api, watch, settle, known } = askedWatch();
  watch.run();
  watch.want(['x']);
  await settle();
  watch.want(['x', 'y']);
  expect(known()).toBeUndefined();
  await settle();
  expect(known()).toEqual(['a x y']);
  expect(api.watched()).toEqual([PATH]);
});

test('when nothing is wanted any more the watch ends, and nothing is known', async () => {
  const { api, watch, settle, known } = askedWatch();
  watch.run();
  watch.want([]);
  await settle();
  expect(known()).toEqual(['a']);
  watch.want(undefined);
  await settle();
  expect(known()).toBeUndefined();
  expect(api.watched()).toEqual([]);
});

test('a list of names that are no longer wanted is not taken in', async () => {
  const { api, watch, settle, known } = askedWatch();
  const answer = Promise.withResolvers<void>();
  api.delayed.set(PATH, answer.promise);
  watch.run();
  watch.want(['x']);
  await settle();
  watch.want(undefined);
  answer.resolve();
  await settle();
  expect(known()).toBeUndefined();
});

test('the program stops the watch', async () => {
  const { api, watch, settle } = askedWatch();
  watch.run();
  watch.want(['x']);
  await settle();
  api.stop.abort();
  await settle();
  expect(api.watched()).toEqual([]);
});
