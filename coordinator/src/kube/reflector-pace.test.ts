import { CodedError } from '@rollcall/common/coded-error.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { type KubeClient, type KubeRequest, KubeStatusError } from './client.ts';
import type { KubeObject } from './objects.ts';
import { createReflector, type ReflectorOptions } from './reflector.ts';

/** When a reflector asks, and for what. What becomes of the answers is in reflector.test.ts. */

type Stream = Parameters<KubeClient['stream']>[0];

/** What a list is answered, or throws, and what a watch does; by how many there were before. */
type Script = {
  list?: (count: number, request: KubeRequest) => unknown;
  watch?: (count: number, request: Stream) => Promise<void>;
};

/** A delay after a failure, by the number of tries, with `random` at a half. */
const RETRY_MS = [375, 750, 1500, 3000, 3750, 3750];
const ABSENT_MS = [7500, 15_000, 22_500];

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

function started({ list, watch }: Script, options: Partial<ReflectorOptions<KubeObject>> = {}) {
  const clock = new FakeClock();
  const stop = new AbortController();
  stops.push(stop);
  const lists: (KubeRequest & { atMs: number })[] = [];
  const watches: (Stream & { atMs: number })[] = [];
  const told: string[] = [];
  const client: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      lists.push({ ...request, atMs: clock.monotonic() });
      return (list?.(lists.length - 1, request) ?? { metadata: { resourceVersion: '10' }, items: [] }) as T;
    },
    stream(request) {
      watches.push({ ...request, atMs: clock.monotonic() });
      const open = new Promise<void>((resolve) => request.signal?.addEventListener('abort', () => resolve()));
      return watch?.(watches.length - 1, request) ?? open;
    },
    close: () => {},
  };
  const reflector = createReflector<KubeObject>({
    client,
    path: '/api/v1/nodes',
    clock,
    random: () => 0.5,
    signal: stop.signal,
    logger: { ...silentLogger(), warn: () => void told.push('warned') } as never,
    handlers: {
      onReplace: (objects) => told.push(`all ${objects.length}`),
      onUpsert: () => {},
      onDelete: () => {},
    },
    onRecovered: (outageMs) => told.push(`back after ${outageMs}`),
    ...options,
  });
  void reflector.run();
  const times = (requests: { atMs: number }[]) => requests.map(({ atMs }) => atMs);
  return { clock, reflector, lists, watches, told, stop, times };
}

function refused(status: number, retryAfterMs?: number): never {
  throw new KubeStatusError(status, {}, retryAfterMs, {});
}

describe('a list', () => {
  test('is read in pages of 500, within a minute each, and the watch goes on from it', async () => {
    const { clock, lists, watches } = started({});
    await clock.advance(0);
    expect(lists).toMatchObject([
      { method: 'GET', path: '/api/v1/nodes', query: { limit: '500' }, accept: 'application/json', timeoutMs: 60_000 },
    ]);
    expect(watches).toHaveLength(1);
    expect(watches[0]).toMatchObject({
      method: 'GET',
      path: '/api/v1/nodes',
      accept: 'application/json',
      idleTimeoutMs: 150_000,
      query: { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: '10', timeoutSeconds: '450' },
    });
  });

  test.each([
    [{}, {}],
    [{ fieldSelector: 'a=b' }, { fieldSelector: 'a=b' }],
    [{ labelSelector: 'c=d' }, { labelSelector: 'c=d' }],
  ])('and its watch ask for %j', async (options, selectors) => {
    const { clock, lists, watches } = started({}, options);
    await clock.advance(0);
    const { limit, ...listed } = lists[0]?.query ?? {};
    const { watch, allowWatchBookmarks, resourceVersion, timeoutSeconds, ...watched } = watches[0]?.query ?? {};
    expect([listed, watched]).toEqual([selectors, selectors]);
  });

  test.each([true, () => true])('of metadata asks for metadata alone', async (metadataOnly) => {
    const { clock, lists, watches } = started({}, { metadataOnly });
    await clock.advance(0);
    expect(lists[0]?.accept).toBe('application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1');
    expect(watches[0]?.accept).toBe('application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1');
  });

  test('whose pages expire twice while they are read is read at once, and the next list in pages again', async () => {
    const more = { metadata: { resourceVersion: '9', continue: 'more' }, items: [] };
    const list = (_count: number, { query }: KubeRequest) =>
      (query?.['continue'] ? refused(410) : undefined) ?? paged(query);
    const paged = (query: KubeRequest['query']) => (query?.['limit'] === '0' ? undefined : more);
    const { clock, lists, reflector } = started({ list });
    for (const _ of ['first', 'next']) {
      await clock.advance(5000);
      expect(lists.splice(0).map(({ query }) => query?.['limit'])).toEqual(['500', '500', '500', '500', '0']);
      reflector.relist();
    }
  });

  test('that expires before its first page came is no reason to read everything at once', async () => {
    const { clock, lists } = started({ list: (count) => (count < 3 ? refused(410) : undefined) });
    await clock.advance(60_000);
    expect(lists.map(({ query }) => query?.['limit'])).toEqual(['500', '500', '500', '500']);
  });

  test('is tried again later and later, and logged once', async () => {
    const { clock, lists, told, times, reflector } = started({
      list: (count) => (count < 6 ? refused(500) : undefined),
    });
    expect([reflector.hasSynced(), reflector.isFailing(), reflector.silentMs()]).toEqual([
      false,
      false,
      Number.POSITIVE_INFINITY,
    ]);
    await clock.advance(60_000);
    let atMs = 0;
    expect(times(lists)).toEqual([0, ...RETRY_MS.map((delayMs) => (atMs += delayMs))]);
    // The start does not wait for the end of the outage.
    expect(told).toEqual(['warned', 'all 0']);
    expect([reflector.hasSynced(), reflector.isFailing()]).toEqual([true, false]);
  });

  test('waits as long as the API server says', async () => {
    const { clock, lists, times } = started({ list: (count) => (count === 0 ? refused(429, 20_000) : undefined) });
    await clock.advance(60_000);
    expect(times(lists)).toEqual([0, 20_000]);
  });

  test.each([
    [403, 60_000],
    [500, RETRY_MS[0]],
  ])('that is refused with %i is tried again after %i ms', async (status, delayMs) => {
    const script = { list: (count: number) => (count === 0 ? refused(status) : undefined) };
    const { clock, lists, times, reflector } = started(script, { refusedRetryMs: 60_000 });
    await clock.advance(0);
    expect(reflector.isRefused()).toBe(status === 403);
    await clock.advance(120_000);
    expect(reflector.isRefused()).toBe(false);
    expect(times(lists)).toEqual([0, delayMs]);
  });

  test('of a resource that is not served is asked for seldom, and counts as empty once', async () => {
    const { clock, lists, told, times } = started(
      { list: (count) => (count < 4 ? refused(404) : undefined) },
      { absentIsEmpty: true },
    );
    await clock.advance(120_000);
    const delays = [RETRY_MS[0] ?? 0, ...ABSENT_MS.slice(0, 3)];
    let atMs = 0;
    expect(times(lists)).toEqual([0, ...delays.map((delayMs) => (atMs += delayMs))]);
    expect(told).toEqual(['all 0', 'all 0']);
  });

  test('of a resource that is not served is asked for at once when a new list is wanted, and then counts at once', async () => {
    const { clock, lists, told, times, reflector } = started(
      { list: (count) => (count < 3 ? refused(404) : undefined) },
      { absentIsEmpty: true },
    );
    await clock.advance(1000);
    expect([told, reflector.hasSynced(), reflector.hasRelisted()]).toEqual([['all 0'], true, true]);
    reflector.relist();
    expect(reflector.hasRelisted()).toBe(false);
    await clock.advance(0);
    expect([times(lists), told, reflector.hasRelisted()]).toEqual([[0, 375, 1000], ['all 0', 'all 0'], true]);
    reflector.relist();
    await clock.advance(0);
    expect([times(lists), reflector.hasRelisted()]).toEqual([[0, 375, 1000, 1000], true]);
  });

  test('that was asked for before a new one was wanted does not say that a resource is not served', async () => {
    let isServed = false;
    const late = (clock: FakeClock) =>
      new Promise((_, reject) => clock.after(1000, () => reject(new KubeStatusError(404, {}, undefined, {}))));
    const { clock, lists, told, reflector } = started(
      { list: (count) => (isServed ? undefined : count < 2 ? refused(404) : late(clock)) },
      { absentIsEmpty: true },
    );
    await clock.advance(10_000);
    expect([lists.length, told]).toEqual([3, ['all 0']]);
    isServed = true;
    reflector.relist();
    await clock.advance(1000);
    expect([lists.length, told, reflector.hasRelisted()]).toEqual([4, ['all 0', 'all 0'], true]);
  });

  test('of a resource that was served in between is asked for as often as at first when it is gone again', async () => {
    const { clock, lists, times, reflector } = started(
      { list: (count) => (count === 4 ? undefined : refused(404)) },
      { absentIsEmpty: true },
    );
    await clock.advance(45_375);
    expect(lists).toHaveLength(5);
    reflector.relist();
    await clock.advance(10_000);
    expect(times(lists).slice(5)).toEqual([45_375, 45_750, 53_250]);
  });

  test('is announced before it is requested', async () => {
    const told: string[] = [];
    const handlers = {
      onListing: () => told.push('listing'),
      onReplace: () => told.push('all'),
      onUpsert: () => {},
      onDelete: () => {},
    };
    const { clock, reflector } = started({ list: () => void told.push('asked') }, { handlers });
    await clock.advance(0);
    reflector.relist();
    await clock.advance(0);
    expect(told).toEqual(['listing', 'asked', 'all', 'listing', 'asked', 'all']);
  });

  test('that another is wanted after does not count as that', async () => {
    const { clock, lists, reflector } = started({
      list: () =>
        new Promise((resolve) => clock.after(100, () => resolve({ metadata: { resourceVersion: '1' }, items: [] }))),
    });
    await clock.advance(50);
    reflector.relist();
    await clock.advance(50);
    expect([lists.length, reflector.hasRelisted()]).toEqual([2, false]);
    await clock.advance(100);
    expect(reflector.hasRelisted()).toBe(true);
  });

  test('that was there between two absences begins their count anew', async () => {
    const { clock, told, reflector } = started(
      { list: (count) => (count % 2 === 1 ? refused(404) : undefined) },
      { absentIsEmpty: true },
    );
    await clock.advance(0);
    for (let round = 0; round < 3; round += 1) {
      reflector.relist();
      await clock.advance(10_000);
    }
    // Four lists, and nothing of the absences.
    expect(told).toEqual(['all 0', 'all 0', 'all 0', 'all 0']);
  });

  test('that is cut off by the end is no failure', async () => {
    const { clock, told, stop, reflector } = started({ list: () => new Promise(() => {}) });
    await clock.advance(0);
    stop.abort();
    await clock.advance(10_000);
    expect([told, reflector.isFailing()]).toEqual([[], false]);
  });

  test('is made anew after the time that it is good for, for which the watch is made to end', async () => {
    const { clock, lists, watches, times } = started(
      { watch: () => new Promise((resolve) => clock.after(60_000, resolve)) },
      { relistMs: 60_000 },
    );
    await clock.advance(120_000);
    expect(times(lists)).toEqual([0, 60_000, 120_000]);
    expect(watches[0]?.query?.['timeoutSeconds']).toBe('60');
  });
});

describe('a watch', () => {
  /** Ends after so long, with an event or without. */
  function watchesFor(livedMs: number, cut = false) {
    const run = started({
      watch: () =>
        new Promise((resolve, reject) => {
          const end = () => (cut ? reject(new CodedError('KUBE_UNREACHABLE', 'on purpose')) : resolve());
          run.clock.after(livedMs, end);
        }),
    });
    return run;
  }

  test('that ended after a second is taken up at once', async () => {
    const { clock, watches, times } = watchesFor(1000);
    await clock.advance(2000);
    expect(times(watches)).toEqual([0, 1000, 2000]);
  });

  test('that ended sooner is taken up later and later', async () => {
    const { clock, watches, times } = watchesFor(999);
    await clock.advance(6000);
    expect(times(watches)).toEqual([0, 999 + 375, 2 * 999 + 375 + 750, 3 * 999 + 375 + 750 + 1500]);
  });

  test.each([
    [5000, 375],
    [4999, 750],
  ])('that was cut after %i ms is taken up after %i ms the second time', async (livedMs, secondMs) => {
    const { clock, watches, times, reflector } = watchesFor(livedMs, true);
    await clock.advance(20_000);
    // It was never opened, which is a failure.
    expect(reflector.isFailing()).toBe(true);
    expect(times(watches).slice(0, 3)).toEqual([0, livedMs + 375, 2 * livedMs + 375 + secondMs]);
  });

  test('that lived for five seconds lets the pauses begin anew', async () => {
    const livedMs = [999, 999, 5000, 999];
    const { clock, watches, times } = started({
      watch: (count) => new Promise((resolve) => clock.after(livedMs[count] ?? 60_000, resolve)),
    });
    await clock.advance(20_000);
    expect(times(watches)).toEqual([0, 1374, 3123, 8123, 9497]);
  });

  test('that fails and is there again tells how long nothing was heard', async () => {
    const { clock, reflector, told, watches } = started({
      list: (count) => (count === 2 || count === 3 ? refused(500) : undefined),
    });
    await clock.advance(5000);
    reflector.relist();
    await clock.advance(1000);
    expect(reflector.silentMs()).toBe(1000);
    reflector.relist();
    await clock.advance(10_000);
    expect(told).toEqual(['all 0', 'all 0', 'warned', `back after ${1000 + 375 + 750}`, 'all 0']);
    expect(watches).toHaveLength(3);
    expect(reflector.silentMs()).toBe(10_000 - 375 - 750);
  });

  test.each<[string, (request: Stream) => void]>([
    ['is open', (request) => request.onOpen?.()],
    ['has ended in order', () => {}],
  ])('that %s was heard of', async (what, heard) => {
    const { clock, reflector } = started({
      watch: (count, request) =>
        new Promise((resolve) => {
          if (count > 0) return;
          clock.after(60_000, () => {
            heard(request);
            if (what !== 'is open') resolve();
          });
        }),
    });
    await clock.advance(59_999);
    expect(reflector.silentMs()).toBe(59_999);
    await clock.advance(1);
    expect(reflector.silentMs()).toBe(0);
  });

  test.each([
    ['by a reset was heard of', Object.assign(new Error(), { code: 'ECONNRESET' }), 0],
    ['by a time-out was not', Object.assign(new Error(), { code: 'ETIMEDOUT' }), 60_000],
    ['by who knows what was not', undefined, 60_000],
  ])('that was cut %s, and has not failed', async (_how, cause, silentMs) => {
    const { clock, reflector, told } = started({
      watch: (count, { onOpen }) =>
        new Promise((_resolve, reject) => {
          if (count > 0) return;
          onOpen?.();
          clock.after(60_000, () => reject(new CodedError('KUBE_UNREACHABLE', 'cut', { cause })));
        }),
    });
    await clock.advance(60_000);
    expect([reflector.silentMs(), reflector.isFailing(), told]).toEqual([silentMs, false, ['all 0']]);
  });

  test('is counted under the name of its resource', async () => {
    const counted: string[] = [];
    const metrics = { watchEvent: () => {}, watchRestarted: (...labels: string[]) => counted.push(labels.join()) };
    const { clock } = started(
      { watch: (count) => (count === 0 ? Promise.resolve() : new Promise(() => {})) },
      { metrics: metrics as never },
    );
    await clock.advance(0);
    expect(counted).toEqual(['nodes,ended']);
  });

  test('that is given up for a new list is no failure and waits for nothing', async () => {
    const { clock, reflector, lists, times } = started({
      watch: () => new Promise((_resolve, reject) => reflectorStopped.push(reject)),
    });
    const reflectorStopped: ((error: Error) => void)[] = [];
    await clock.advance(100);
    reflector.relist();
    for (const reject of reflectorStopped) reject(new CodedError('KUBE_UNREACHABLE', 'torn down'));
    await clock.advance(0);
    expect([times(lists), reflector.isFailing()]).toEqual([[0, 100], false]);
  });
});
