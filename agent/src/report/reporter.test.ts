import { CodedError } from '@rollcall/common/coded-error.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { ReportContent } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { registerReportMetrics } from './metrics.ts';
import type { Reply } from './reply.ts';
import { type DigestedContent, digestContent } from './report-builder.ts';
import type { SendOptions, Sent } from './report-sender.ts';
import { Reporter } from './reporter.ts';

type Outcome = Partial<Omit<Sent, 'reply'>> & { reply?: Partial<Sent['reply']> };

let clock: FakeClock;
let lifetime: AbortController;
let content: ReportContent | undefined;
/** Called once, when the content is looked at the next time. */
let onChanged: () => void;
/** How each attempt ends; the last one goes for all that follow. */
let outcomes: (() => Outcome | Promise<Outcome>)[];
let attempts: { atMs: number; facts: Record<string, string>; leaving: boolean; timeoutMs: number }[];
let replies: Reply[];
let replyFailure: Error | undefined;
let rounds: number;
let introduced: boolean;
let registry: Registry;
let reporter: Reporter;

beforeEach(() => {
  clock = new FakeClock();
  lifetime = new AbortController();
  content = undefined;
  onChanged = () => {};
  outcomes = [() => ({})];
  attempts = [];
  replies = [];
  replyFailure = undefined;
  rounds = 0;
  introduced = false;
  registry = new Registry();
  reporter = new Reporter({
    sender: {
      send,
      exhausted: true,
      get introduced() {
        return introduced;
      },
    },
    heartbeatSeconds: 10,
    content: () => {
      const seen = content;
      onChanged();
      onChanged = () => {};
      return seen && digestContent(seen);
    },
    onReply: (reply) => {
      if (replyFailure) throw replyFailure;
      replies.push(reply);
    },
    onRound: () => {
      rounds += 1;
    },
    clock,
    random: () => 0,
    logger: silentLogger(),
    metrics: registerReportMetrics(registry),
    signal: lifetime.signal,
  });
});

async function send({ content: { facts } }: DigestedContent, { leaving, timeoutMs }: SendOptions): Promise<Sent> {
  attempts.push({ atMs: clock.monotonic(), facts, leaving, timeoutMs });
  const next = outcomes.length > 1 ? outcomes.shift() : outcomes[0];
  const { reply, ...rest } = (await next?.()) ?? {};
  introduced = true;
  return { origin: 'https://a', contentWanted: false, isNewSession: false, reply: { full: false, ...reply }, ...rest };
}

function fail(retryAfterMs?: number): () => never {
  return () => {
    throw new CodedError(
      'COORDINATOR_UNREACHABLE',
      'Away',
      retryAfterMs === undefined ? {} : { fields: { retryAfterMs } },
    );
  };
}

/** Something else is seen. */
function see(what: string) {
  content = { services: [], devices: [], facts: { what } };
  reporter.changed();
}

async function begin(what: string) {
  see(what);
  reporter.start();
  await clock.advance(0);
}

const times = () => attempts.map(({ atMs }) => atMs);

async function metric(name: string): Promise<number | undefined> {
  return (await registry.getSingleMetric(`rollcall_agent_${name}`)?.get())?.values[0]?.value;
}

describe('while there is nothing to say', () => {
  test('the reporter is silent until everything was looked at, and then speaks at once', async () => {
    reporter.start();
    await clock.advance(60_000);
    expect(attempts).toEqual([]);
    see('a');
    await clock.advance(0);
    expect(attempts).toMatchObject([{ atMs: 60_000, facts: { what: 'a' } }]);
  });
});

describe('an unexpected error', () => {
  test('while a reply is taken is counted, and reports go on', async () => {
    replyFailure = new RangeError('Maximum call stack size exceeded');
    await begin('a');
    await clock.advance(20_000);
    expect(times()).toEqual([0, 10_000, 20_000]);
    expect(await metric('report_errors_total')).toBe(3);
    expect(await metric('coordinator_connected')).toBe(1);
    replyFailure = undefined;
    await clock.advance(10_000);
    expect(replies).toHaveLength(1);
  });

  test('while a report is made is counted and passes, but such rounds do not count for the watchdog', async () => {
    await begin('a');
    const roundsBefore = rounds;
    onChanged = () => {
      throw new RangeError('Maximum call stack size exceeded');
    };
    see('b');
    await clock.advance(0);
    expect([await metric('report_errors_total'), rounds]).toEqual([1, roundsBefore]);
    onChanged = () => {};
    await clock.advance(1000);
    expect(attempts.at(-1)?.facts).toEqual({ what: 'b' });
    expect(rounds).toBeGreaterThan(roundsBefore);
  });
});

test('a new session is counted, and its first report sent at once', async () => {
  outcomes = [() => ({ isNewSession: true, contentWanted: true, reply: { newSession: true } }), () => ({})];
  await begin('a');
  expect(times()).toEqual([0, 0]);
  expect(await metric('new_sessions_total')).toBe(1);
});

describe('while reports are accepted', () => {
  test('the same is reported again after the interval of the agent, then of the coordinator', async () => {
    outcomes = [() => ({}), () => ({ reply: { nextReportSeconds: 25 } })];
    await begin('a');
    await clock.advance(60_000);
    expect(times()).toEqual([0, 10_000, 35_000, 60_000]);
  });

  test('a change is reported at once, and moves the next heartbeat', async () => {
    await begin('a');
    await clock.advance(4000);
    see('b');
    await clock.advance(0);
    await clock.advance(10_000);
    expect(times()).toEqual([0, 4000, 14_000]);
    expect(attempts[1]?.facts).toEqual({ what: 'b' });
  });

  test('several changes within one tick make one report of the latest', async () => {
    await begin('a');
    see('b');
    see('c');
    see('d');
    await clock.advance(0);
    expect(attempts.map(({ facts }) => facts['what'])).toEqual(['a', 'd']);
  });

  test('what comes back to what it was is no news', async () => {
    await begin('a');
    see('b');
    see('a');
    await clock.advance(1000);
    expect(attempts).toHaveLength(1);
  });

  test('a change during a report goes out after it, and only the latest', async () => {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    outcomes = [() => promise, () => ({})];
    await begin('a');
    see('b');
    await clock.advance(1000);
    see('c');
    await clock.advance(1000);
    expect(attempts).toHaveLength(1);
    resolve({});
    await clock.advance(0);
    expect(attempts.map(({ facts }) => facts['what'])).toEqual(['a', 'c']);
  });

  test('a change that comes between looking and waiting is not overlooked', async () => {
    await begin('a');
    await clock.advance(4000);
    see('b');
    see('a');
    onChanged = () => queueMicrotask(() => see('b'));
    await clock.advance(0);
    expect(times()).toEqual([0, 4000]);
  });

  test('the content follows at once when it is asked for', async () => {
    outcomes = [() => ({}), () => ({ contentWanted: true }), () => ({})];
    await begin('a');
    await clock.advance(10_000);
    expect(times()).toEqual([0, 10_000, 10_000]);
  });

  test('the metrics have how long a report took, and when it was accepted', async () => {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    outcomes = [() => promise];
    await begin('a');
    expect(await metric('coordinator_connected')).toBe(0);
    await clock.advance(2000);
    resolve({});
    await clock.advance(0);
    const duration = await registry.getSingleMetric('rollcall_agent_report_duration_seconds')?.get();
    expect(duration?.values).toContainEqual(
      expect.objectContaining({ metricName: expect.stringMatching(/_sum$/), value: 2 }),
    );
    expect(await metric('last_report_accepted_timestamp_seconds')).toBe(clock.now() / 1000);
    expect(await metric('coordinator_connected')).toBe(1);
  });

  test('every reply is handed on', async () => {
    const services = [{ name: 'ws-daemon' }];
    outcomes = [() => ({}), fail(), () => ({ reply: { services } })];
    await begin('a');
    await clock.advance(11_000);
    expect(replies).toEqual([{ full: false }, { full: false, services }]);
  });

  test('a change without a notification goes with the next heartbeat', async () => {
    await begin('a');
    content = { services: [], devices: [], facts: { what: 'b' } };
    await clock.advance(9999);
    expect(attempts).toHaveLength(1);
    await clock.advance(1);
    expect(attempts).toMatchObject([{ atMs: 0 }, { atMs: 10_000, facts: { what: 'b' } }]);
  });

  test('the metrics say so', async () => {
    await begin('a');
    expect(await metric('coordinator_connected')).toBe(1);
    expect(await metric('last_report_accepted_timestamp_seconds')).toBe(clock.now() / 1000);
  });
});

describe('while reports fail', () => {
  test('the next attempts come ever later, up to 10 s apart', async () => {
    outcomes = [fail()];
    await begin('a');
    await clock.advance(20_000);
    expect(times()).toEqual([0, 200, 600, 1400, 3000, 6200, 11_200, 16_200]);
    expect(await metric('coordinator_connected')).toBe(0);
  });

  test('a change is tried at once, but no sooner than 200 ms after the last attempt', async () => {
    outcomes = [fail()];
    await begin('a');
    await clock.advance(4000);
    see('b');
    await clock.advance(50);
    see('c');
    await clock.advance(100);
    expect(times()).toEqual([0, 200, 600, 1400, 3000, 4000]);
    await clock.advance(50);
    expect(attempts.at(-1)).toMatchObject({ atMs: 4200, facts: { what: 'c' } });
  });

  test('not even a change is sent before the time that the coordinator asked for', async () => {
    outcomes = [fail(3000), () => ({})];
    await begin('a');
    see('b');
    await clock.advance(2999);
    expect(attempts).toHaveLength(1);
    await clock.advance(1);
    expect(times()).toEqual([0, 3000]);
  });

  test('the first one that is accepted ends the backoff', async () => {
    outcomes = [fail(), fail(), fail(), () => ({}), fail(), () => ({})];
    await begin('a');
    await clock.advance(12_000);
    expect(times()).toEqual([0, 200, 600, 1400, 11_400, 11_600]);
  });
});

test('the loop is seen to come round while nothing is due', async () => {
  outcomes = [() => ({ reply: { nextReportSeconds: 600 } })];
  await begin('a');
  const before = rounds;
  await clock.advance(60_000);
  expect(rounds - before).toBe(4);
});

describe('at the end', () => {
  async function stop() {
    lifetime.abort();
    const stopped = reporter.stop();
    await clock.advance(2000);
    return stopped;
  }

  test('the agent says goodbye, and nothing after that', async () => {
    await begin('a');
    await stop();
    see('b');
    await clock.advance(60_000);
    expect(attempts.map(({ leaving }) => leaving)).toEqual([false, true]);
  });

  test('a coordinator that does not know the agent gets no last report', async () => {
    outcomes = [fail()];
    await begin('a');
    await stop();
    expect(attempts.map(({ leaving }) => leaving)).toEqual([false]);
  });

  test('goodbye is said with the content when that is asked for', async () => {
    outcomes = [() => ({}), () => ({ contentWanted: true }), () => ({})];
    await begin('a');
    await stop();
    expect(attempts.map(({ leaving }) => leaving)).toEqual([false, true, true]);
  });

  test('goodbye is tried again elsewhere, but not for ever', async () => {
    outcomes = [() => ({}), fail()];
    await begin('a');
    await stop();
    expect(attempts.map(({ leaving }) => leaving)).toEqual([false, true, true, true]);
  });

  test('goodbye is said once to a coordinator that wants to be left alone', async () => {
    const throttled = () => {
      throw new CodedError('COORDINATOR_REFUSED', 'Busy', { fields: { status: 429 } });
    };
    outcomes = [() => ({}), throttled];
    await begin('a');
    await stop();
    expect(attempts.map(({ leaving }) => leaving)).toEqual([false, true]);
  });

  test('goodbye takes 1.5 s at most, however many are tried', async () => {
    const slow = async () => {
      await new Promise<void>((resolve) => void clock.after(1000, resolve));
      return fail()();
    };
    outcomes = [() => ({}), slow];
    await begin('a');
    await stop();
    expect(attempts.map(({ leaving, timeoutMs }) => [leaving, timeoutMs])).toEqual([
      [false, 5000],
      [true, 1500],
      [true, 500],
    ]);
  });

  test('goodbye waits for a report that is under way', async () => {
    const { promise, reject } = Promise.withResolvers<Outcome>();
    outcomes = [() => ({}), () => promise, () => ({})];
    await begin('a');
    see('b');
    await clock.advance(0);
    lifetime.signal.addEventListener('abort', () => reject(new Error('Aborted')));
    await stop();
    expect(attempts.map(({ leaving, facts }) => `${facts['what']} ${leaving}`)).toEqual([
      'a false',
      'b false',
      'b true',
    ]);
  });
});
