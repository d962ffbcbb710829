import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from './testing/limits.ts';
import { type Bench, createBenchAt, result, serveSilently } from './testing/monitor-bench.ts';
import type { RunningServer } from './testing/servers.ts';

let server: RunningServer;

beforeEach(async () => {
  server = await serveSilently();
});

function createBench(freshEveryRounds = 1): Bench {
  return createBenchAt(server, {}, freshEveryRounds);
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

  it('that was lost while a probe found proof is not asked about again', async () => {
    const bench = createBench();
    await bench.start();
    await bench.answer('healthy');
    await bench.clock.advance(1000);
    await closeIdleConnection(bench);
    await bench.answer('hard');
    expect(bench.askedAtMs).toEqual([0, 1000]);
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

describe('rounds that go by the idle connection', () => {
  const holding = async (): Promise<Bench> => {
    const bench = createBench(5);
    bench.automatic = result('healthy', 'accepted');
    await bench.start();
    await eventually(() => expect(server.connections.size).toBe(1));
    return bench;
  };
  const advance = async (bench: Bench, rounds: number) => {
    for (let round = 0; round < rounds; round += 1) await bench.clock.advance(1000);
  };

  it('count as rounds, with the evidence of the last answer, and every fifth asks', async () => {
    const bench = await holding();
    await advance(bench, 10);
    expect(bench.askedAtMs).toEqual([0, 5000, 10_000]);
    expect(bench.monitor.rounds()).toBe(11);
    expect(bench.results[3]).toEqual({ verdict: 'healthy', evidence: 'accepted' });
  });

  it('come to an end with it', async () => {
    const bench = await holding();
    await advance(bench, 2);
    bench.automatic = result('hard');
    await closeIdleConnection(bench);
    await bench.clock.advance(0);
    expect(bench.askedAtMs).toEqual([0, 2000]);
    expect(bench.monitor.state()?.ready).toBe(false);
  });

  it('do not follow one that was not healthy: each asks until one is', async () => {
    const bench = await holding();
    await advance(bench, 4);
    bench.automatic = result('soft', 'late');
    await advance(bench, 2);
    bench.automatic = result('healthy', 'accepted');
    await advance(bench, 3);
    expect(bench.askedAtMs).toEqual([0, 5000, 6000, 7000]);
    expect(bench.monitor.state()?.ready).toBe(true);
  });

  it('notice within five rounds and the threshold that no new connection is taken', async () => {
    const bench = await holding();
    bench.automatic = result('soft', 'late');
    await advance(bench, 6);
    expect(bench.monitor.state()?.ready).toBe(true);
    await advance(bench, 1);
    expect(bench.monitor.state()?.ready).toBe(false);
  });
});
