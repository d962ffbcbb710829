import { CodedError } from '@rollcall/common/coded-error.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../kube/client.ts';
import { createLeaseElection } from './lease.ts';
import { LeaseServer } from './testing/lease-simulation.ts';

/** The requests of one candidate to the API server, and their times. lease.test.ts covers several candidates. */

type Verb = 'list' | 'get' | 'create' | 'replace';

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

function started(
  options: {
    random?: number;
    /** The watch is open and tells nothing. */
    deaf?: boolean;
    /** Called when a request has been sent, before the server looks at it; throws what is answered instead. */
    before?: (verb: Verb, server: LeaseServer, clock: FakeClock) => void | Promise<void>;
    signal?: AbortSignal;
  } = {},
) {
  const { random = 0.5, deaf = false, before } = options;
  const clock = new FakeClock();
  const server = new LeaseServer();
  const stop = new AbortController();
  stops.push(stop);
  const asked: [verb: Verb, atMs: number][] = [];
  const warnings: string[] = [];
  const client: KubeClient = {
    request<T>(request: KubeRequest): Promise<T> {
      const verb = verbOf(request);
      asked.push([verb, clock.monotonic()]);
      const answer = async () => {
        await before?.(verb, server, clock);
        return server.answer(request) as T;
      };
      // The server completes a request even if its client no longer waits.
      const cut = new Promise<never>((_resolve, reject) => {
        request.signal?.addEventListener('abort', () => reject(new CodedError('KUBE_UNREACHABLE', 'cut off')));
      });
      return Promise.race([answer(), cut]);
    },
    stream(request, onObject) {
      const end = deaf ? () => {} : server.watch(request, onObject);
      request.onOpen?.();
      return new Promise((resolve) => {
        request.signal?.addEventListener('abort', () => {
          end();
          resolve();
        });
      });
    },
    close: () => {},
  };
  const election = createLeaseElection({
    client,
    namespace: 'rollcall',
    name: 'rollcall-coordinator',
    identity: 'me',
    leaderUrl: 'https://me',
    clock,
    random: () => random,
    signal: options.signal ?? stop.signal,
    logger: { ...silentLogger(), warn: (...said: unknown[]) => void warnings.push(String(said.at(-1))) } as never,
    callbacks: { onStartedLeading: () => {}, onStoppedLeading: () => {}, onLeaderChanged: () => {} },
  });
  const state = { hasEnded: false };
  void election.run().then(() => {
    state.hasEnded = true;
  });
  const timesOf = (verb: Verb) => asked.filter(([each]) => each === verb).map(([, atMs]) => atMs);
  const holder = () => server.lease?.spec?.holderIdentity;
  return { clock, server, election, asked, warnings, state, timesOf, holder };
}

function verbOf({ method, query }: KubeRequest): Verb {
  if (method === 'GET') return query?.['limit'] === undefined ? 'get' : 'list';
  return method === 'PATCH' ? 'create' : 'replace';
}

function failed(): never {
  throw new KubeStatusError(500, {}, undefined, {});
}

/** The first list, and the creation of an absent Lease, with `random` at a half. */
const TAKEN_MS = 325;
const TAKING: [Verb, number][] = [
  ['list', 0],
  ['get', 0],
  ['create', TAKEN_MS],
  ['replace', TAKEN_MS],
];

describe('a candidate', () => {
  test.each([
    ['delivers every change', false],
    ['delivers nothing', true],
  ])('whose watch %s looks once, takes the Lease, and renews it every two seconds', async (_what, deaf) => {
    const { clock, election, asked } = started({ deaf });
    await clock.advance(TAKEN_MS);
    expect(election.isLeading()).toBe(true);
    await clock.advance(4000);
    expect(asked).toEqual([...TAKING, ['replace', 2325], ['replace', 4325]]);
  });

  test('asks for nothing when it is told to stop before it begins', async () => {
    const { clock, asked, state } = started({ signal: AbortSignal.abort() });
    await clock.advance(10_000);
    expect([asked, state.hasEnded]).toEqual([[], true]);
  });

  test('tries again a tenth of a second after another replica was faster', async () => {
    const { clock, asked } = started({
      random: 0.2,
      deaf: true,
      before: (verb, server) => {
        if (verb !== 'create') return;
        // Another replica created, took and freed it within a moment.
        server.answer({ method: 'PATCH', path: '/leases/rollcall-coordinator', timeoutMs: 1 });
        server.edit((lease) => {
          lease.spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: '2026-01-01T00:00:00.000001Z' };
        });
      },
    });
    await clock.advance(400);
    expect(asked).toEqual([
      ['list', 0],
      ['get', 0],
      ['create', 250],
      ['replace', 350],
    ]);
  });
});

describe('after a failure', () => {
  test.each([
    [0, [0, 1000, 2000]],
    [0.5, [0, 1500, 3000]],
  ])('a candidate waits between half and the whole of two seconds: with %d until %j', async (random, expected) => {
    const { clock, timesOf } = started({ random, before: failed });
    await clock.advance(3000);
    expect(timesOf('get').slice(0, 3)).toEqual(expected);
  });

  test('a candidate waits also when it hears meanwhile of a Lease that it may take', async () => {
    const { clock, server, timesOf } = started({
      before: (verb, _server, time) => {
        if (verb === 'get') failed();
        if (verb === 'list') return new Promise((resolve) => time.after(100, resolve));
      },
    });
    server.answer({ method: 'PATCH', path: '/leases/rollcall-coordinator', timeoutMs: 1 });
    await clock.advance(2000);
    expect(timesOf('replace')).toEqual([1500]);
  });

  test('a failure is reported once while it lasts, and again when it comes again', async () => {
    let broken = false;
    const { clock, warnings } = started({ before: () => (broken ? failed() : undefined) });
    await clock.advance(1000);
    for (const expected of [1, 2]) {
      broken = true;
      await clock.advance(5000);
      broken = false;
      await clock.advance(3000);
      expect(warnings.filter((text) => text === 'Failed to read or write the Lease')).toHaveLength(expected);
    }
  });
});

describe('a leader', () => {
  test.each([
    ['once', 1, [2325, 2325, 4325]],
    ['before every renewal', 4, [2325, 2325, 2425, 2425, 2525]],
  ])(
    'whose Lease another client touches %s, unseen, reads it and tries again at once',
    async (_how, touches, expected) => {
      let left = 0;
      const { clock, timesOf, election } = started({
        deaf: true,
        before: (verb, server) => {
          if (verb !== 'replace' || left === 0) return;
          server.edit((lease) => {
            lease.metadata.labels = { touched: String(left) };
          });
          left -= 1;
        },
      });
      await clock.advance(TAKEN_MS);
      left = touches;
      await clock.advance(4000);
      expect(timesOf('replace').slice(1)).toEqual(expected);
      expect(election.isLeading()).toBe(true);
    },
  );

  test('that was stopped until its time was up begins with no write, and takes the Lease again', async () => {
    const { clock, timesOf, election } = started({ deaf: true });
    await clock.advance(1000);
    clock.standStill(20_000);
    await clock.advance(0);
    expect([timesOf('replace'), election.isLeading()]).toEqual([[TAKEN_MS], false]);
    await clock.advance(100);
    expect([timesOf('replace'), election.isLeading()]).toEqual([[TAKEN_MS, 21_100], true]);
  });

  test('renews a Lease at once out of which a person took the name', async () => {
    const { clock, server, asked, holder } = started();
    await clock.advance(1000);
    server.edit((lease) => {
      lease.spec = { ...lease.spec, holderIdentity: '' };
    });
    await clock.advance(0);
    expect(asked.slice(TAKING.length)).toEqual([['replace', 1000]]);
    expect(holder()).toBe('me');
  });

  test('creates a Lease that was deleted at once', async () => {
    const { clock, server, asked, holder } = started();
    await clock.advance(1000);
    server.delete();
    await clock.advance(0);
    expect(asked.slice(TAKING.length)).toEqual([
      ['create', 1000],
      ['replace', 1000],
    ]);
    expect(holder()).toBe('me');
  });
});

describe('a clean stop', () => {
  const nothing = Promise.resolve();

  test('of a candidate that has never written asks for nothing', async () => {
    const { clock, election, asked } = started();
    await clock.advance(100);
    await election.release(nothing);
    expect(asked).toEqual(TAKING.slice(0, 2));
  });

  test('of a leader that has written once frees the Lease, and waits for nothing more', async () => {
    const { clock, election, asked, holder } = started();
    await clock.advance(TAKEN_MS);
    await election.release(nothing);
    expect(asked.slice(TAKING.length).map(([verb]) => verb)).toEqual(['get', 'replace']);
    expect([holder(), clock.pendingTimers]).toEqual(['', 0]);
  });

  test('frees a Lease that is only just being taken', async () => {
    const { clock, election, holder } = started({
      before: (verb) => (verb === 'replace' ? new Promise((resolve) => clock.after(500, resolve)) : undefined),
    });
    await clock.advance(TAKEN_MS);
    let released = false;
    void election.release(nothing).then(() => {
      released = true;
    });
    await clock.advance(2000);
    expect([released, holder(), election.isLeading()]).toEqual([true, '', false]);
  });

  test.each<[Verb, string[]]>([
    ['get', []],
    ['replace', ['Left the Lease to run out, because writes had not settled']],
  ])('waits a second for a request that is never answered, and cuts it off: %s', async (hanging, expected) => {
    const { clock, election, warnings, state } = started({
      before: (verb) => (verb === hanging ? new Promise(() => {}) : undefined),
    });
    await clock.advance(TAKEN_MS);
    void election.release(new Promise(() => {}));
    await clock.advance(999);
    expect(state.hasEnded).toBe(false);
    await clock.advance(1);
    expect([state.hasEnded, warnings]).toEqual([true, expected]);
  });

  test.each<[string, string | undefined, (server: LeaseServer) => void]>([
    [
      'another replica holds',
      'intruder',
      (server) =>
        server.edit((lease) => {
          lease.spec = { ...lease.spec, holderIdentity: 'intruder' };
        }),
    ],
    ['another client deleted', undefined, (server) => server.delete()],
  ])('leaves a Lease alone that %s, although no watch has told', async (_what, expected, change) => {
    const { clock, server, election, asked, warnings, holder } = started({ deaf: true });
    await clock.advance(1000);
    change(server);
    const version = server.lease?.metadata.resourceVersion;
    await election.release(nothing);
    expect(asked.slice(TAKING.length)).toEqual([['get', 1000]]);
    expect([holder(), server.lease?.metadata.resourceVersion, warnings]).toEqual([expected, version, []]);
  });
});
