import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { type KubeRequest, KubeStatusError } from '../../kube/client.ts';
import { LeaderRequests } from '../../kube/leader-requests.ts';
import type { EventNews } from '../events/event-object.ts';
import { type ObjectStatusOptions, StatusController, tellingOfInForce } from './status-controller.ts';

type Kept = { uid: string; name: string; status: unknown };
type Options = ObjectStatusOptions<Kept, object>;

/** A controller of objects of these names. `answer` is the API server's status for a path, 200 where all is well. */
function started(
  names: readonly string[],
  {
    look = (_object: Kept): object | undefined => ({}),
    answer = (_path: string): number | Promise<number> => 200,
    statuses = {},
    ...options
  }: Omit<Partial<Options>, 'look'> & {
    /** Their statuses, by name. */
    statuses?: Readonly<Record<string, unknown>>;
    look?: (object: Kept) => object | undefined;
    answer?: (path: string) => number | Promise<number>;
  } = {},
) {
  const clock = new FakeClock();
  const rig = { names, remainingMs: 60_000 };
  const written: string[] = [];
  const logged: string[] = [];
  const requests: KubeRequest[] = [];
  const news: EventNews[] = [];
  const leaderRequests = new LeaderRequests({
    client: {
      async request(asked: KubeRequest) {
        requests.push(asked);
        const status = await answer(asked.path);
        if (status !== 200) throw new KubeStatusError(status, {}, undefined, {});
        return {} as never;
      },
    },
    fence: { remainingMs: () => rig.remainingMs },
    signal: new AbortController().signal,
  });
  const controller = new StatusController<Kept, object>({
    kind: 'NodeHold',
    path: ({ name }) => `/${name}/status`,
    objects: {
      all: () => rig.names.map((name) => ({ uid: name, name, status: statuses[name] })),
      noteStatus: ({ name }) => written.push(name),
    },
    look: () => look,
    tellingOf: () => undefined,
    writes: {
      requests: leaderRequests,
      record: (each) => news.push(each),
      clock,
      logger: pino(
        { level: 'debug' },
        {
          write: (line: string) => {
            const { level, msg } = JSON.parse(line);
            if (level > 20) logged.push(msg);
          },
        },
      ),
    },
    ...options,
  });
  /** When something was asked of the API server, by ticks every half second for so long. */
  const asked = async (forMs: number): Promise<number[]> => {
    const times: number[] = [];
    for (let ms = 0; ms < forMs; ms += 500) {
      await controller.tick();
      for (const _request of requests.splice(0)) times.push(clock.monotonic());
      await clock.advance(500);
    }
    return times;
  };
  const settled = () => leaderRequests.settled();
  return Object.assign(rig, { controller, settled, clock, written, logged, requests, news, asked });
}

describe('a look', () => {
  test('is taken every 900 ms at most', async () => {
    let looks = 0;
    const { controller, clock } = started(['a'], { look: () => void looks++ });
    await controller.tick();
    await clock.advance(899);
    await controller.tick();
    expect(looks).toBe(1);
    await clock.advance(1);
    await controller.tick();
    expect(looks).toBe(2);
  });

  test('that takes long is taken so seldom that it costs a twentieth of the time', async () => {
    let looks = 0;
    const { controller, clock } = started(['a'], {
      look: () => {
        looks += 1;
        clock.standStill(100);
        return undefined;
      },
    });
    await controller.tick();
    await clock.advance(1899);
    await controller.tick();
    expect(looks).toBe(1);
    await clock.advance(1);
    await controller.tick();
    expect(looks).toBe(2);
  });

  test('that fails as a whole is logged, and the next one is taken', async () => {
    let isBroken = true;
    const written: string[] = [];
    const all = () => {
      if (isBroken) throw new Error('on purpose');
      return [{ uid: 'a', name: 'a', status: undefined }];
    };
    const { controller, logged } = started([], { objects: { all, noteStatus: ({ name }) => written.push(name) } });
    await controller.tick();
    expect(logged).toEqual(['Failed to look at the objects of a kind']);
    isBroken = false;
    await controller.tick();
    expect(written).toEqual(['a']);
  });

  test('keeps no object from being looked at because another cannot be, nor that one later', async () => {
    let isBroken = true;
    const look = ({ name }: Kept) => {
      if (isBroken && name === 'a') throw new Error('on purpose');
      return {};
    };
    const { controller, clock, written, logged } = started(['a', 'b'], { look });
    await controller.tick();
    expect(written).toEqual(['b']);
    isBroken = false;
    await clock.advance(1000);
    await controller.tick();
    expect(written).toEqual(['b', 'a', 'b']);
    expect(logged).toEqual(['Failed to look at an object']);
  });
});

describe('a status', () => {
  test('that differs is written, to this very object', async () => {
    const { controller, requests, written } = started(['a', 'same', 'none'], {
      look: ({ name }) => (name === 'none' ? undefined : { of: name }),
      statuses: { same: { of: 'same' } },
    });
    await controller.tick();
    expect(requests).toEqual([
      {
        method: 'PATCH',
        path: '/a/status',
        query: { fieldManager: 'rollcall' },
        body: { metadata: { uid: 'a' }, status: { of: 'a' } },
        contentType: 'application/merge-patch+json',
        timeoutMs: 10_000,
      },
    ]);
    expect(written).toEqual(['a']);
  });

  test('loses what it has no more', async () => {
    const { controller, requests } = started(['a'], {
      statuses: { a: { old: 1, kept: 1 } },
      look: () => ({ kept: 1 }),
    });
    await controller.tick();
    expect(requests[0]?.body).toEqual({ metadata: { uid: 'a' }, status: { old: null, kept: 1 } });
  });

  test('is not written, nor looked at, while another replica may write', async () => {
    const rig = started(['a']);
    rig.remainingMs = 0;
    await rig.controller.tick();
    expect(rig.requests).toEqual([]);
    rig.remainingMs = 1;
    await rig.controller.tick();
    expect(rig.requests).toMatchObject([{ timeoutMs: 1 }]);
  });

  test('is not written when the right to write ended with the one before', async () => {
    const rig = started(['a', 'b'], {
      answer: () => {
        rig.remainingMs = 0;
        return 200;
      },
    });
    await rig.controller.tick();
    expect(rig.written).toEqual(['a']);
    expect(rig.requests).toHaveLength(1);
  });

  test('is written one after the other, by one look at a time, and what is under way can be waited for', async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const { controller, settled, clock, requests, written } = started(['a', 'b'], { answer: () => promise });
    void controller.tick();
    await clock.advance(999);
    void controller.tick();
    let isSettled = false;
    void settled().then(() => {
      isSettled = true;
    });
    await clock.advance(0);
    expect([requests.length, isSettled]).toEqual([1, false]);
    resolve(200);
    await clock.advance(0);
    expect([written, isSettled]).toEqual([['a', 'b'], true]);
  });

  test('of which the write hangs holds up the others for a second, and only the first time', async () => {
    const hung = (path: string) => path !== '/c/status';
    const { controller, settled, clock, requests } = started(['a', 'b', 'c'], {
      answer: async (path) => {
        if (!hung(path)) return 200;
        await new Promise<void>((resolve) => clock.after(10_000, resolve));
        throw new Error('timed out');
      },
    });
    const pathsAfter = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 500) {
        void controller.tick();
        await clock.advance(500);
      }
      return requests.splice(0).map(({ path }) => path);
    };
    expect(await pathsAfter(4000)).toEqual(['/a/status', '/b/status', '/c/status', '/c/status']);
    for (let tries = 0; tries < 20; tries += 1) {
      const paths = await pathsAfter(2500);
      expect(paths).toContain('/c/status');
      expect(new Set(paths.filter(hung)).size).toBe(paths.filter(hung).length);
    }
    let isSettled = false;
    await clock.advance(300_000);
    void controller.tick();
    await clock.advance(2000);
    void settled().then(() => {
      isSettled = true;
    });
    await clock.advance(7999);
    expect(isSettled).toBe(false);
    await clock.advance(1);
    expect(isSettled).toBe(true);
  });
});

describe('a status that cannot be written', () => {
  test('is tried again after 10 s, and then after twice as long, up to 5 minutes', async () => {
    const { asked } = started(['a'], { answer: () => 500 });
    const times = await asked(1_300_000);
    const gaps = times.slice(1).map((atMs, index) => (atMs - (times[index] ?? 0)) / 1000);
    expect(gaps).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
  });

  test('because the object seems to be gone is tried again after a second', async () => {
    const { asked } = started(['a'], { answer: () => 404 });
    expect(await asked(12_000)).toEqual([0, 1000, 11_000]);
  });

  test('begins anew after a success, and for an object that was not there meanwhile', async () => {
    let status = 500;
    const rig = started(['a'], { answer: () => status });
    await rig.asked(20_000);
    status = 200;
    expect(await rig.asked(11_000)).toHaveLength(1);
    status = 500;
    expect(await rig.asked(11_000)).toEqual([31_000, 41_000]);
    rig.names = [];
    await rig.asked(1000);
    rig.names = ['a'];
    expect(await rig.asked(1000)).toEqual([43_000]);
  });

  test('is logged once, and for an object that is gone when it fails again', async () => {
    let status = 404;
    const { controller, clock, logged } = started(['a'], { answer: () => status });
    await controller.tick();
    expect(logged).toEqual([]);
    for (status of [409, 500, 500]) {
      await clock.advance(60_000);
      await controller.tick();
      expect(logged).toEqual(['Failed to write the status of an object']);
    }
  });

  test('is logged again once all could be written meanwhile', async () => {
    let status = 500;
    const { asked, logged } = started(['a', 'b'], { answer: () => status });
    await asked(1000);
    expect(logged).toHaveLength(1);
    status = 200;
    await asked(20_000);
    status = 500;
    await asked(1000);
    expect(logged).toHaveLength(2);
  });
});

describe('an Event about an object', () => {
  const subject = { apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodeHold', name: 'a', uid: 'a' };
  const newsOf = (message: string): EventNews => ({ subject, type: 'Warning', reason: 'Odd', message });

  /** The messages that were told while the object was about each of these in turn; the last of the status first. */
  async function told(abouts: readonly string[], { shown, allClear }: { shown?: string; allClear?: string } = {}) {
    let about = '';
    const { controller, clock, news } = started(['a'], {
      look: () => ({}),
      statuses: { a: {} },
      tellingOf: () => ({ about, shown, news: newsOf(about), isAllClear: about === allClear }),
    });
    for (about of abouts) {
      await controller.tick();
      await clock.advance(1000);
    }
    return news.map(({ message }) => message);
  }

  test('is told once, and again when it is about something else', async () => {
    expect(await told(['x', 'x', 'y', 'y', 'x'])).toEqual(['x', 'y', 'x']);
  });

  test('is not told again by a replica that finds it in the status', async () => {
    expect(await told(['x', 'x', 'y'], { shown: 'x' })).toEqual(['y']);
  });

  test('is told as over only to those who were told before', async () => {
    expect(await told(['fine', 'x', 'fine'], { allClear: 'fine' })).toEqual(['x', 'fine']);
  });

  test('does not wait for the status to be written', async () => {
    const { controller, news } = started(['a'], {
      answer: () => 500,
      tellingOf: () => ({ about: 'x', shown: undefined, news: newsOf('x'), isAllClear: false }),
    });
    await controller.tick();
    expect(news).toHaveLength(1);
  });
});

describe('the condition Ready', () => {
  const condition = { type: 'Ready', lastTransitionTime: '', observedGeneration: 1 };
  const refused = { ...condition, status: 'False', reason: 'KeyTaken', message: 'm' } as const;
  const object = { name: 'a', uid: 'u', status: { conditions: [{ type: 'Stalled', message: 'r' }, refused] } };

  test('becomes a warning, with what the status shows of it', () => {
    expect(tellingOfInForce('NodeService', object, [{ ...refused, message: 'n' }])).toEqual({
      about: 'n',
      shown: 'm',
      isAllClear: false,
      news: {
        subject: { apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodeService', name: 'a', uid: 'u' },
        ...{ type: 'Warning', reason: 'KeyTaken', message: 'n' },
      },
    });
  });

  test('is the all-clear unless it is False, and nothing is told without it', () => {
    const inForce = { ...refused, status: 'True' } as const;
    expect(tellingOfInForce('NodeService', object, [inForce])).toMatchObject({
      isAllClear: true,
      news: { type: 'Normal' },
    });
    expect(tellingOfInForce('NodeService', object, [{ ...refused, type: 'Stalled' }])).toBeUndefined();
  });
});
