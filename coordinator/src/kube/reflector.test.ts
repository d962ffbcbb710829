import { CodedError } from '@rollcall/common/coded-error.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test, vi } from 'vitest';
import { type KubeClient, type KubeRequest, KubeStatusError } from './client.ts';
import type { KubeObject } from './objects.ts';
import { createReflector, type ResourceEventHandler } from './reflector.ts';

type Watched = (emit: (event: object) => void, request: Parameters<KubeClient['stream']>[0]) => Promise<void>;

/** A reflector of a scripted collection. What an API server answers is tested on a real one. */
function started(options: {
  lists: KubeObject[][];
  watch?: Watched;
  handlers?: Partial<ResourceEventHandler<KubeObject>>;
  transform?: (raw: KubeObject) => KubeObject;
  /** In the place of `lists`: what a request for a page is answered, or throws. */
  answer?: (request: KubeRequest) => unknown;
  absentIsEmpty?: boolean;
}) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const told: string[] = [];
  const counts = { lists: 0, watches: 0 };
  const client: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      if (options.answer) return options.answer(request) as T;
      const items = options.lists[Math.min(counts.lists, options.lists.length - 1)];
      counts.lists += 1;
      return { metadata: { resourceVersion: '10' }, items } as T;
    },
    stream: (request, onObject) => {
      const { signal, onOpen } = request;
      counts.watches += 1;
      onOpen?.();
      return (
        options.watch?.(onObject, request) ??
        new Promise((resolve) => signal?.addEventListener('abort', () => resolve()))
      );
    },
    close: () => {},
  };
  const namesOf = (objects: KubeObject[]) => objects.map(({ metadata }) => metadata.name).join();
  const reflector = createReflector({
    client,
    path: '/api/v1/nodes',
    clock,
    random: () => 0.5,
    signal: stop.signal,
    logger: silentLogger(),
    handlers: {
      onReplace: (objects) => told.push(`all ${namesOf(objects)}`),
      onUpsert: (object) => told.push(`put ${namesOf([object])}${object.metadata.labels?.['bad'] ? '' : ' as it was'}`),
      onDelete: (object) => told.push(`gone ${namesOf([object])}`),
      ...options.handlers,
    },
    ...(options.transform ? { transform: options.transform } : {}),
    ...(options.absentIsEmpty ? { absentIsEmpty: true } : {}),
  });
  void reflector.run();
  return { clock, told, counts, reflector, stop };
}

function object(name: string, labels: Record<string, string> = {}): KubeObject {
  return { metadata: { name, uid: name, resourceVersion: '11', labels } };
}

/** Chokes on objects with the label `bad`. */
function transform(raw: KubeObject): KubeObject {
  if (raw.metadata.labels?.['bad']) throw new Error('on purpose');
  return raw;
}

test('a list that its handler chokes on is read again before it counts as synced', async () => {
  let tries = 0;
  const { clock, reflector, counts } = started({
    lists: [[object('a')]],
    handlers: {
      onReplace: () => {
        tries += 1;
        if (tries === 1) throw new Error('on purpose');
      },
    },
  });
  await clock.advance(0);
  expect({ synced: reflector.hasSynced(), failing: reflector.isFailing() }).toEqual({ synced: false, failing: true });
  await clock.advance(1000);
  expect({ synced: reflector.hasSynced(), failing: reflector.isFailing() }).toEqual({ synced: true, failing: false });
  expect(counts).toEqual({ lists: 2, watches: 1 });
});

test('an object that cannot be read any more stays as it was until it is gone', async () => {
  let emit: (event: object) => void = () => {};
  const { clock, told } = started({
    lists: [[object('a'), object('b'), object('c')]],
    watch: (onObject) => {
      emit = onObject;
      return new Promise(() => {});
    },
    transform,
  });
  await clock.advance(0);
  emit({ type: 'MODIFIED', object: object('b', { bad: 'yes' }) });
  emit({ type: 'DELETED', object: object('c', { bad: 'yes' }) });
  expect(told).toEqual(['all a,b,c', 'put b as it was', 'gone c']);
});

test('an object is remembered from event to event, and forgotten when it is deleted', async () => {
  let emit: (event: object) => void = () => {};
  const { clock, told } = started({
    lists: [[object('a'), object('b')]],
    watch: (onObject) => {
      emit = onObject;
      return new Promise(() => {});
    },
    transform,
  });
  await clock.advance(0);
  emit({ type: 'MODIFIED', object: object('a') });
  emit({ type: 'MODIFIED', object: object('a', { bad: 'yes' }) });
  emit({ type: 'DELETED', object: object('b') });
  emit({ type: 'ADDED', object: object('b', { bad: 'yes' }) });
  expect(told).toEqual(['all a,b', 'put a as it was', 'put a as it was', 'gone b']);
});

test.each([
  ['that is garbled once goes on where it was', 'KUBE_WATCH_BROKEN', 1, 1],
  ['that is garbled twice is listed anew', 'KUBE_WATCH_BROKEN', 2, 2],
  ['that fails in another way goes on where it was', undefined, 4, 1],
])('a watch %s', async (_what, code, failures, lists) => {
  const { clock, counts, stop } = started({
    lists: [[object('a')]],
    watch: () => {
      if (counts.watches > failures) return new Promise(() => {});
      const status = new KubeStatusError(500, {}, undefined, {});
      return Promise.reject(code === undefined ? status : new CodedError(code as 'KUBE_WATCH_BROKEN', 'on purpose'));
    },
  });
  await clock.advance(60_000);
  expect(counts).toEqual({ lists, watches: failures + 1 });
  stop.abort();
});

test('a list with an object that cannot be read delivers the object that was known', async () => {
  const { clock, told, reflector } = started({
    lists: [
      [object('a'), object('b')],
      [object('a'), object('b', { bad: 'yes' }), object('new', { bad: 'yes' })],
      [],
      [object('b', { bad: 'yes' })],
    ],
    transform,
  });
  await clock.advance(0);
  reflector.relist();
  await clock.advance(0);
  expect(told).toEqual(['all a,b', 'all a,b']);
  for (let round = 0; round < 2; round += 1) {
    reflector.relist();
    await clock.advance(0);
    expect(told.at(-1)).toBe('all ');
  }
  expect(told).toHaveLength(4);
});

test.each(['ended', 'cut'])('a watch that is %s after each event is taken up a few times a second', async (how) => {
  const { clock, told, counts, stop } = started({
    lists: [[]],
    watch: async (onObject) => {
      // Without a floor there would be no end.
      if (counts.watches > 1000) await new Promise(() => {});
      onObject({ type: 'ADDED', object: object('a') });
      if (how === 'cut') throw new CodedError('KUBE_UNREACHABLE', 'on purpose');
    },
  });
  await clock.advance(3000);
  stop.abort();
  expect(told.length).toBeGreaterThan(3);
  expect(counts.watches).toBeLessThan(20);
});

test('a handler that keeps nothing of an object hears of it all the same', async () => {
  const heard: string[] = [];
  const { stop } = started({
    lists: [[object('a')]],
    watch: async (emit) => {
      emit({ type: 'MODIFIED', object: object('a') });
      emit({ type: 'DELETED', object: object('a') });
      return new Promise(() => {});
    },
    transform: () => undefined as never,
    handlers: {
      onReplace: (all) => heard.push(`all ${all.length}`),
      onUpsert: () => heard.push('put'),
      onDelete: () => heard.push('gone'),
    },
  });
  await vi.waitFor(() => expect(heard).toEqual(['all 1', 'put', 'gone']), { timeout: 10_000 });
  stop.abort();
});

test.each([
  ['the API server failed', { code: 500, reason: 'InternalError' }, 1],
  ['the API server is overloaded', { code: 429, reason: 'TooManyRequests' }, 1],
  ['the history is gone', { code: 410, reason: 'Expired' }, 2],
  ['of anything else', { code: 400, reason: 'BadRequest' }, 2],
])('a watch that ends with an ERROR event goes on where it was, or lists: %s', async (_why, status, lists) => {
  let watches = 0;
  const { clock, counts, stop } = started({
    lists: [[object('a')]],
    watch: (emit) => {
      watches += 1;
      if (watches > 1) return new Promise(() => {});
      return Promise.resolve().then(() => emit({ type: 'ERROR', object: { kind: 'Status', ...status } }));
    },
  });
  await clock.advance(10_000);
  expect(counts).toEqual({ lists, watches: 2 });
  stop.abort();
});

test('a list that breaks off in the middle, or is none, takes nothing away', async () => {
  const pages: (() => unknown)[] = [
    () => ({ metadata: { resourceVersion: '10' }, items: [object('a'), object('b')] }),
    () => ({ metadata: { resourceVersion: '11', continue: 'more' }, items: [object('a')] }),
    () => {
      throw new CodedError('KUBE_UNREACHABLE', 'on purpose');
    },
    () => ({ kind: 'Status' }),
    () => ({ metadata: { resourceVersion: '12' }, items: [object('a'), object('b'), object('c')] }),
  ];
  const asked: (string | undefined)[] = [];
  const { clock, told, reflector, stop } = started({
    lists: [],
    answer: ({ query }) => {
      asked.push(query?.['continue']);
      return (pages[asked.length - 1] ?? pages.at(-1))?.();
    },
  });
  await clock.advance(0);
  reflector.relist();
  await clock.advance(0);
  expect({ told, failing: reflector.isFailing() }).toEqual({ told: ['all a,b'], failing: true });
  await clock.advance(60_000);
  stop.abort();
  expect(told).toEqual(['all a,b', 'all a,b,c']);
  expect(asked).toEqual([undefined, undefined, 'more', undefined, undefined]);
});

test('a watch goes on from the last event or bookmark, and does not pass bookmarks on', async () => {
  const from: (string | undefined)[] = [];
  const { clock, told, reflector, stop } = started({
    lists: [[]],
    watch: async (emit, { query }) => {
      from.push(query?.['resourceVersion']);
      if (from.length === 1) emit({ type: 'ADDED', object: object('a') });
      if (from.length === 2) emit({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '20' } } });
      if (from.length > 2) await new Promise(() => {});
    },
  });
  await clock.advance(10_000);
  expect(from).toEqual(['10', '11', '20']);
  expect(reflector.resourceVersion()).toBe('20');
  expect(told).toEqual(['all ', 'put a as it was']);
  stop.abort();
});

test('a history that is gone is listed anew', async () => {
  const { clock, told, counts, stop } = started({
    lists: [[object('a')], [object('b')]],
    watch: async (emit) => {
      if (counts.watches > 1) return new Promise(() => {});
      emit({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    },
  });
  await clock.advance(60_000);
  stop.abort();
  expect(told).toEqual(['all a', 'all b']);
});

test.each([
  ['that told something goes on from there', true, ['all a', 'put a as it was']],
  ['that never told anything is listed anew', false, ['all a', 'all a']],
])('after a silence a watch %s', async (_what, speaks, expected) => {
  const { clock, told, counts, stop } = started({
    lists: [[object('a')]],
    watch: async (emit) => {
      if (counts.watches > 1) return new Promise(() => {});
      if (speaks) emit({ type: 'MODIFIED', object: object('a') });
      throw new CodedError('KUBE_UNREACHABLE', 'on purpose', { fields: { idleTimeoutMs: 150_000 } });
    },
  });
  await clock.advance(10_000);
  stop.abort();
  expect(told).toEqual(expected);
});

test('one 404 says nothing; two in a row say that nothing is there, where that may be', async () => {
  let missing = false;
  const { clock, told, reflector, stop } = started({
    lists: [],
    absentIsEmpty: true,
    answer: () => {
      if (missing) throw new KubeStatusError(404, { reason: 'NotFound' }, undefined, {});
      return { metadata: { resourceVersion: '10' }, items: [object('a')] };
    },
  });
  await clock.advance(0);
  missing = true;
  reflector.relist();
  await clock.advance(0);
  missing = false;
  await clock.advance(10_000);
  expect(told).toEqual(['all a', 'all a']);
  missing = true;
  reflector.relist();
  await clock.advance(10_000);
  expect(told).toEqual(['all a', 'all a', 'all ']);
  expect(reflector.hasSynced()).toBe(true);
  stop.abort();
});

test('an empty list is passed on again after a failure, since a handler that lost it knows nothing', async () => {
  let status = 404;
  const lost: string[] = [];
  const { clock, told, stop } = started({
    lists: [],
    absentIsEmpty: true,
    answer: () => {
      throw new KubeStatusError(status, {}, undefined, {});
    },
    handlers: { onLost: () => lost.push('lost') },
  });
  await clock.advance(60_000);
  expect(told).toEqual(['all ']);
  status = 500;
  await clock.advance(60_000);
  status = 404;
  await clock.advance(60_000);
  expect(lost.length).toBeGreaterThan(0);
  expect(told).toEqual(['all ', 'all ']);
  stop.abort();
});

test('who must not go by an old picture is told at a failure, and gets a new list', async () => {
  const told: string[] = [];
  const { clock, counts, stop } = started({
    lists: [[object('a')]],
    watch: async () => {
      if (counts.watches > 1) return new Promise(() => {});
      throw new KubeStatusError(500, {}, undefined, {});
    },
    handlers: { onReplace: () => told.push('all'), onLost: () => told.push('lost') },
  });
  await clock.advance(10_000);
  stop.abort();
  expect(told).toEqual(['all', 'lost', 'all']);
});
