import { FakeClock } from '@rollcall/common/fake-clock.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ProbeTimeout } from './probe.ts';
import { createServiceMonitor, type ServiceMonitor } from './service-monitor.ts';
import { eventually } from './testing/limits.ts';
import { createRawServer, listenOnLoopback, type RunningServer } from './testing/servers.ts';
import type { ProbeResult, ServiceDefinition, ServiceState } from './types.ts';

/** A probe that was asked and has not answered yet. */
type Question = { target: ProbeTarget; signal: AbortSignal; askedAtMs: number; answer: (result: ProbeResult) => void };

function result(verdict: ProbeResult['verdict'], evidence: string = verdict): ProbeResult {
  return { verdict, evidence, latencyMs: 1 };
}

/** A monitor whose clock stands still and whose probe the test answers; the idle connections are real. */
class Bench {
  readonly clock = new FakeClock();
  readonly stop = new AbortController();
  readonly questions: Question[] = [];
  readonly changes: ServiceState[] = [];
  readonly results: ProbeResult[] = [];
  sentinelCloses = 0;
  /** Answers every probe at once with this, when set. */
  automatic: ProbeResult | undefined;
  readonly monitor: ServiceMonitor;

  constructor(target: ProbeTarget, definition: Partial<ServiceDefinition> = {}, random = 0) {
    this.monitor = createServiceMonitor(
      {
        name: 'ws-daemon',
        defaultTarget: { host: target.host, port: target.port },
        probe: (asked, signal) => this.#probe(asked, signal),
        periodMs: 1000,
        timeoutMs: 800,
        failureThreshold: 3,
        successThreshold: 1,
        ...definition,
      },
      {
        clock: this.clock,
        signal: this.stop.signal,
        random: () => random,
        onChange: (state) => this.changes.push(state),
        onRound: (each) => this.results.push(each),
        onSentinelClosed: () => {
          this.sentinelCloses += 1;
        },
      },
    );
  }

  #probe(target: ProbeTarget, signal: AbortSignal): Promise<ProbeResult> {
    return new Promise((resolve) => {
      const { promise, resolve: answer } = Promise.withResolvers<ProbeResult>();
      this.questions.push({ target, signal, askedAtMs: this.clock.monotonic(), answer });
      signal.addEventListener('abort', () => answer(result('soft', String(signal.reason))));
      if (this.automatic) answer(this.automatic);
      void promise.then(resolve);
    });
  }

  /** Starts with `random` 0: the first probe is asked at once. */
  async start(): Promise<void> {
    this.monitor.start();
    await this.clock.advance(0);
  }

  /** Answers the newest question and lets that take effect. */
  async answer(verdict: ProbeResult['verdict'], evidence?: string): Promise<void> {
    this.questions.at(-1)?.answer(result(verdict, evidence));
    await this.clock.advance(0);
  }

  get askedAtMs(): number[] {
    return this.questions.map((question) => question.askedAtMs);
  }
}

let server: RunningServer;

beforeEach(async () => {
  server = await serve();
});

async function serve(): Promise<RunningServer> {
  const running = await listenOnLoopback(createRawServer((socket) => socket.resume()));
  onTestFinished(running.close);
  return running;
}

function createBench(definition: Partial<ServiceDefinition> = {}, random = 0): Bench {
  const bench = new Bench(server, definition, random);
  onTestFinished(() => bench.stop.abort());
  return bench;
}

/** Closes the idle connection from the side of the service and waits until the monitor knows. */
async function closeIdleConnection(bench: Bench): Promise<void> {
  await eventually(() => expect(server.connections.size).toBe(1));
  const before = bench.sentinelCloses;
  const [connection] = server.connections;
  connection?.end();
  await eventually(() => expect(bench.sentinelCloses).toBe(before + 1));
  await eventually(() => expect([...server.connections]).not.toContain(connection));
}

describe('rounds', () => {
  it('begin after a random part of the period, but of no more than a tenth of a second', async () => {
    const short = createBench({ periodMs: 40 }, 0.5);
    short.monitor.start();
    await short.clock.advance(5000);
    expect(short.askedAtMs[0]).toBe(20);
    const long = createBench({ periodMs: 60_000 }, 0.5);
    long.monitor.start();
    await long.clock.advance(5000);
    expect(long.askedAtMs[0]).toBe(50);
  });

  it('come once a period, counted from start to start', async () => {
    const bench = createBench();
    await bench.start();
    await bench.clock.advance(300);
    await bench.answer('healthy');
    await bench.clock.advance(700);
    await bench.answer('healthy');
    await bench.clock.advance(1000);
    expect(bench.askedAtMs).toEqual([0, 1000, 2000]);
    expect(bench.monitor.rounds()).toBe(2);
    expect(bench.results).toHaveLength(2);
  });

  it('never overlap: one that is late is followed by the next at once, and by one only', async () => {
    const bench = createBench({ timeoutMs: 10_000 });
    await bench.start();
    await bench.clock.advance(3500);
    expect(bench.questions).toHaveLength(1);
    await bench.answer('healthy');
    expect(bench.askedAtMs).toEqual([0, 3500]);
    await bench.answer('healthy');
    await bench.clock.advance(1000);
    expect(bench.askedAtMs).toEqual([0, 3500, 4500]);
  });

  it('go on one after another when every probe takes its whole time', async () => {
    const bench = createBench({ timeoutMs: 1000 });
    await bench.start();
    await bench.clock.advance(5000);
    expect(bench.askedAtMs).toEqual([0, 1000, 2000, 3000, 4000, 5000]);
    expect(bench.monitor.state()?.ready).toBe(false);
  });

  it('give a probe up when its time is over', async () => {
    const bench = createBench({ timeoutMs: 300 });
    await bench.start();
    await bench.clock.advance(299);
    expect(bench.questions[0]?.signal.aborted).toBe(false);
    await bench.clock.advance(1);
    expect(bench.questions[0]?.signal.reason).toBeInstanceOf(ProbeTimeout);
    expect(bench.questions[0]?.signal.reason).toMatchObject({ timeoutMs: 300 });
  });

  it('leave no timer but that of the next round', async () => {
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    expect(bench.clock.pendingTimers).toBe(1);
  });
});

describe('the state', () => {
  it('is unknown before the first answer', async () => {
    const bench = createBench();
    await bench.start();
    expect([bench.monitor.state(), bench.monitor.rounds()]).toEqual([undefined, 0]);
    await bench.answer('healthy');
    expect(bench.monitor.state()).toMatchObject({ name: 'ws-daemon', ready: true, sinceMs: bench.clock.now() });
    expect(bench.monitor.rounds()).toBe(1);
  });

  it('is announced when the verdict or its evidence changed, and only then', async () => {
    const bench = createBench();
    await bench.start();
    for (const [verdict, evidence] of [
      ['healthy', 'well'],
      ['healthy', 'well'],
      ['soft', 'late'],
      ['hard', 'refused'],
      ['hard', 'refused'],
      ['soft', 'late'],
      ['healthy', 'well'],
    ] as const) {
      await bench.answer(verdict, evidence);
      await bench.clock.advance(1000);
    }
    expect(bench.changes.map(({ ready, evidence }) => `${ready} ${evidence}`)).toEqual([
      'true well',
      'false refused',
      'false late',
      'true well',
    ]);
  });
});

describe('the idle connection', () => {
  it('is held while the service is ready, and let go when it is not', async () => {
    const bench = createBench();
    await bench.start();
    expect(server.accepted()).toBe(0);
    await bench.answer('healthy');
    await eventually(() => expect(server.connections.size).toBe(1));
    await bench.clock.advance(1000);
    await bench.answer('soft');
    await bench.clock.advance(1000);
    await bench.answer('hard');
    await eventually(() => expect([server.accepted(), server.connections.size]).toEqual([1, 0]));
  });

  it('causes a probe at once when it is closed, which can withdraw', async () => {
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    await closeIdleConnection(bench);
    expect(bench.askedAtMs).toEqual([0, 0]);
    await bench.answer('hard');
    expect(bench.monitor.state()?.ready).toBe(false);
    expect(bench.monitor.rounds()).toBe(1);
  });

  it('is held again as soon as the service proved to be there', async () => {
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    await closeIdleConnection(bench);
    await bench.answer('healthy');
    await eventually(() => expect([server.accepted(), server.connections.size]).toEqual([2, 1]));
  });

  it('causes another probe when it is closed while one is under way', async () => {
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    await bench.clock.advance(1000);
    await closeIdleConnection(bench);
    expect(bench.questions).toHaveLength(2);
    await bench.answer('healthy');
    expect(bench.askedAtMs).toEqual([0, 1000, 1000]);
  });

  it('does not use up the failure threshold, which counts rounds', async () => {
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    for (let extra = 0; extra < 4; extra += 1) {
      await closeIdleConnection(bench);
      await bench.answer('soft');
    }
    expect(bench.questions).toHaveLength(5);
    expect(bench.monitor.state()?.ready).toBe(true);
  });

  it('causes five probes in a burst and then no more than one a period', async () => {
    const bench = createBench();
    bench.automatic = result('healthy');
    await bench.start();
    for (let close = 0; close < 5; close += 1) await closeIdleConnection(bench);
    await eventually(() => expect(bench.questions).toHaveLength(6));
    await closeIdleConnection(bench);
    expect(bench.questions).toHaveLength(6);
    await bench.clock.advance(1000);
    expect(bench.questions).toHaveLength(7);
    await closeIdleConnection(bench);
    await eventually(() => expect(bench.questions).toHaveLength(8));
    await closeIdleConnection(bench);
    expect(bench.questions).toHaveLength(8);
  });
});

describe('a new target', () => {
  it('is probed at once, and then once a period', async () => {
    const other = await serve();
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    await bench.clock.advance(400);
    bench.monitor.setTarget({ host: other.host, port: other.port });
    await bench.answer('healthy');
    await bench.clock.advance(1000);
    expect(bench.askedAtMs).toEqual([0, 400, 1400]);
    expect(bench.questions.map((question) => question.target.port)).toEqual([server.port, other.port, other.port]);
  });

  it('takes over the idle connection', async () => {
    const other = await serve();
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    await eventually(() => expect(server.connections.size).toBe(1));
    bench.monitor.setTarget({ host: other.host, port: other.port });
    await bench.answer('healthy');
    await eventually(() => expect([server.connections.size, other.connections.size]).toEqual([0, 1]));
    expect(bench.sentinelCloses).toBe(0);
  });

  it('keeps the verdict until it was probed, and does not listen to the old address any more', async () => {
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    await bench.clock.advance(1000);
    bench.monitor.setTarget({ host: '127.0.0.1', port: 1 });
    const old = bench.questions[1];
    expect(old?.signal.aborted).toBe(true);
    old?.answer(result('hard'));
    await bench.clock.advance(0);
    expect(bench.monitor.state()?.ready).toBe(true);
    await bench.answer('hard');
    expect(bench.monitor.state()?.ready).toBe(false);
  });

  it('is forgotten for the default when there is none', async () => {
    const bench = createBench();
    await bench.start();
    bench.monitor.setTarget({ host: '127.0.0.1', port: 1 });
    bench.monitor.setTarget(undefined);
    expect(bench.questions.map((question) => question.target.port)).toEqual([server.port, 1, server.port]);
  });

  it('that is the old one changes nothing', async () => {
    const bench = createBench();
    await bench.start();
    bench.monitor.setTarget({ host: server.host, port: server.port });
    expect(bench.questions).toHaveLength(1);
    expect(bench.questions[0]?.signal.aborted).toBe(false);
  });

  it('can be named before the start', async () => {
    const bench = createBench();
    bench.monitor.setTarget({ host: '127.0.0.1', port: 1 });
    expect(bench.questions).toHaveLength(0);
    await bench.start();
    expect(bench.questions.map((question) => question.target.port)).toEqual([1]);
  });
});

describe('the end', () => {
  it('leaves no timer, no connection and no probe, and calls nobody back', async () => {
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    await eventually(() => expect(server.connections.size).toBe(1));
    await bench.clock.advance(1000);
    bench.stop.abort();
    expect(bench.questions[1]?.signal.aborted).toBe(true);
    expect(bench.clock.pendingTimers).toBe(0);
    await eventually(() => expect(server.connections.size).toBe(0));
    await bench.clock.advance(5000);
    bench.monitor.setTarget({ host: '127.0.0.1', port: 1 });
    await bench.clock.advance(5000);
    expect([bench.questions.length, bench.results.length, bench.changes.length]).toEqual([2, 1, 1]);
    expect([bench.sentinelCloses, bench.clock.pendingTimers]).toEqual([0, 0]);
  });

  it('may come before the start', async () => {
    const bench = createBench();
    bench.stop.abort();
    await bench.start();
    await bench.clock.advance(5000);
    expect(bench.questions).toHaveLength(0);
  });
});
