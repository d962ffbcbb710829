import { beforeEach, describe, expect, it } from 'vitest';
import { ProbeTimeout } from './probe.ts';
import { eventually } from './testing/limits.ts';
import { type Bench, createBenchAt, serveSilently } from './testing/monitor-bench.ts';
import type { RunningServer } from './testing/servers.ts';
import type { ServiceDefinition } from './types.ts';

let server: RunningServer;

beforeEach(async () => {
  server = await serveSilently();
});

function createBench(definition: Partial<ServiceDefinition> = {}): Bench {
  return createBenchAt(server, definition);
}

describe('rounds', () => {
  it('begin at once, so that services of one list go on together', async () => {
    const bench = createBench({ periodMs: 60_000 });
    bench.monitor.start();
    await bench.clock.advance(0);
    expect(bench.askedAtMs).toEqual([0]);
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

  it('leave no timer but the one for the next round', async () => {
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

describe('a process that stood still', () => {
  /** Healthy from the first round, and then nothing happens for so long. */
  async function stoodStill(forMs: number, definition: Partial<ServiceDefinition> = {}): Promise<Bench> {
    const bench = createBench(definition);
    await bench.start();
    await bench.answer('healthy');
    bench.clock.standStill(forMs);
    return bench;
  }

  it('knows nothing once the next round is more than ten seconds late', async () => {
    const bench = await stoodStill(11_000);
    expect(bench.monitor.state()?.ready).toBe(true);
    bench.clock.standStill(1);
    expect(bench.monitor.state()).toBeUndefined();
    await bench.clock.advance(0);
    expect([bench.questions.length, bench.monitor.state()]).toEqual([2, undefined]);
    await bench.answer('healthy');
    expect(bench.monitor.state()).toMatchObject({ ready: true, sinceMs: bench.clock.now() });
    expect(bench.changes).toHaveLength(2);
  });

  it('does not say that a service is ready which hangs since, and at once that one is gone', async () => {
    const bench = await stoodStill(60_000);
    await bench.clock.advance(0);
    for (const expected of [undefined, undefined, false]) {
      await bench.answer('soft');
      expect(bench.monitor.state()?.ready).toBe(expected);
      await bench.clock.advance(1000);
    }
    const other = await stoodStill(60_000);
    await other.clock.advance(0);
    await other.answer('hard');
    expect(other.monitor.state()?.ready).toBe(false);
  });

  it('takes no account of a probe that was under way, and begins another at once', async () => {
    const bench = await stoodStill(0, { failureThreshold: 1, successThreshold: 2 });
    await bench.clock.advance(1000);
    bench.clock.standStill(60_000);
    expect(bench.monitor.state()).toBeUndefined();
    await bench.clock.advance(0);
    expect([bench.questions.length, bench.monitor.state(), bench.changes.length]).toEqual([3, undefined, 0]);
    await bench.answer('healthy');
    // The finding from before the standstill does not count any more.
    expect(bench.monitor.state()).toBeUndefined();
    await bench.clock.advance(1000);
    await bench.answer('healthy');
    expect([bench.questions.length, bench.monitor.state()?.ready]).toEqual([4, true]);
    expect(bench.clock.pendingTimers).toBe(1);
  });

  it('looks over a new connection, whatever it holds', async () => {
    const bench = createBenchAt(server, {}, 10);
    await bench.start();
    await bench.answer('healthy');
    await eventually(() => expect(server.connections.size).toBe(1));
    await bench.clock.advance(1000);
    expect([bench.questions.length, bench.monitor.rounds()]).toEqual([1, 2]);
    bench.clock.standStill(60_000);
    await bench.clock.advance(0);
    expect(bench.questions).toHaveLength(2);
  });

  it('knows nothing either while a lost connection has it look at once', async () => {
    const bench = createBench({ periodMs: 60_000 });
    await bench.start();
    await bench.answer('healthy');
    await eventually(() => expect(server.connections.size).toBe(1));
    bench.clock.standStill(80_000);
    for (const socket of server.connections) socket.destroy();
    await eventually(() => expect(bench.sentinelCloses).toBe(1));
    expect([bench.questions.length, bench.monitor.state()]).toEqual([2, undefined]);
  });
});

describe('the end', () => {
  it('leaves no timer, no connection and no probe, and calls nothing back', async () => {
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

describe('a service that cannot be asked', () => {
  it('is unknown after as many rounds as the threshold says, and keeps its idle connection', async () => {
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    await eventually(() => expect(server.connections.size).toBe(1));
    for (let round = 0; round < 3; round += 1) {
      expect(bench.monitor.state()?.ready).toBe(true);
      await bench.clock.advance(1000);
      await bench.answer('unknown');
    }
    expect(bench.monitor.state()).toMatchObject({ ready: false, unknown: true });
    expect(server.connections.size).toBe(1);
    await bench.clock.advance(1000);
    await bench.answer('healthy');
    expect(bench.monitor.state()).toEqual(expect.not.objectContaining({ unknown: true }));
    expect(bench.monitor.state()?.ready).toBe(true);
  });
});
