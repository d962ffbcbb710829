import { WATCHED } from '@rollcall/common/watched-resources.ts';
import { expect, test } from 'vitest';
import { Collection, type OnNode } from '../state/collection.ts';
import { MemoryApi, podObject } from './memory-api.test-fixtures.ts';
import { ResourceWatch } from './resource-watch.ts';

const PATH = '/apis/resource.k8s.io/v1/resourceslices';

type Thing = OnNode & { names: readonly string[] };

/** A watch of what is asked for by names, while it is. */
function askedWatch() {
  const api = new MemoryApi();
  api.collections.set(PATH, [podObject('a', {})]);
  const store = new Collection<Thing>({ at: ({ node }) => node });
  let asked: readonly string[] | undefined;
  const watch = new ResourceWatch<Thing>(
    {
      watched: WATCHED.resourceSlices,
      store,
      parts: () => {
        const names = asked;
        if (!names) return [];
        const transform = ({ metadata: { name, uid } }: { metadata: { name: string; uid: string } }) => {
          return { name, uid, namespace: '', node: 'n1', names };
        };
        return [{ kept: String(names), transform, isNeeded: false }];
      },
    },
    api.shared,
  );
  const want = (names: readonly string[] | undefined) => {
    asked = names;
    watch.update();
  };
  const settle = () => api.clock.advance(0);
  const known = () =>
    store.isKnown() ? store.on('n1').map(({ name, names }) => [name, ...names].join(' ')) : undefined;
  return { api, watch, want, settle, known };
}

test('nothing is listed before it runs, and nothing while nothing is wanted', async () => {
  const { api, watch, want, settle, known } = askedWatch();
  want(['x']);
  await settle();
  expect(api.lists).toEqual([]);
  want(undefined);
  void watch.run();
  await settle();
  expect(api.lists).toEqual([]);
  expect(known()).toBeUndefined();
});

test('what was asked for before it runs is watched as soon as it does', async () => {
  const { api, watch, want, settle, known } = askedWatch();
  want(['x']);
  void watch.run();
  await settle();
  expect(known()).toEqual(['a x']);
  expect(api.watched()).toEqual([PATH]);
  api.tell(PATH, 'ADDED', podObject('b', {}));
  expect(known()).toEqual(['a x', 'b x']);
});

test('the same names are not listed anew', async () => {
  const { api, watch, want, settle } = askedWatch();
  void watch.run();
  want(['x', 'y']);
  await settle();
  want(['x', 'y']);
  await settle();
  expect(api.lists).toHaveLength(1);
});

test('for other names nothing is known until a new list', async () => {
  const { api, watch, want, settle, known } = askedWatch();
  void watch.run();
  want(['x']);
  await settle();
  want(['x', 'y']);
  expect(known()).toBeUndefined();
  await settle();
  expect(known()).toEqual(['a x y']);
  expect(api.watched()).toEqual([PATH]);
});

test('when nothing is wanted any more the watch ends, and nothing is known', async () => {
  const { api, watch, want, settle, known } = askedWatch();
  void watch.run();
  want([]);
  await settle();
  expect(known()).toEqual(['a']);
  want(undefined);
  await settle();
  expect(known()).toBeUndefined();
  expect(api.watched()).toEqual([]);
});

test('a list of names that are no longer wanted is not taken in', async () => {
  const { api, watch, want, settle, known } = askedWatch();
  const answer = Promise.withResolvers<void>();
  api.delayed.set(PATH, answer.promise);
  void watch.run();
  want(['x']);
  await settle();
  want(undefined);
  answer.resolve();
  await settle();
  expect(known()).toBeUndefined();
});

test('the program stops the watch', async () => {
  const { api, watch, want, settle } = askedWatch();
  void watch.run();
  want(['x']);
  await settle();
  api.stop.abort();
  await settle();
  expect(api.watched()).toEqual([]);
});
