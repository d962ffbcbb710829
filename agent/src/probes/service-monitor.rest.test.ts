import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from './testing/limits.ts';
import { type Bench, createBenchAt, result, serveSilently } from './testing/monitor-bench.ts';
import type { RunningServer } from './testing/servers.ts';
import type { ServiceDefinition } from './types.ts';

let server: RunningServer;

beforeEach(async () => {
  server = await serveSilently();
});

function createBench(definition: Partial<ServiceDefinition> = {}): Bench {
  const bench = createBenchAt(server, { timeoutMs: 1000, idlePeriodMs: 5000, ...definition });
  bench.automatic = result('healthy');
  return bench;
}

/** One that has been at rest for a while: two rounds have come at the period of rest. */
async function atRest(definition: Partial<ServiceDefinition> = {}): Promise<Bench> {
  const bench = createBench(definition);
  await bench.start();
  await eventually(() => expect(server.connections.size).toBe(1));
  await bench.clock.advance(60_000 + 2 * 4900);
  return bench;
}

/** Milliseconds between the rounds since the one at `fromMs`. */
function gaps({ askedAtMs }: Bench, fromMs: number): number[] {
  const since = askedAtMs.filter((each) => each >= fromMs);
  return since.slice(1).map((each, index) => each - (since[index] ?? 0));
}

describe('a service at rest', () => {
  it('is asked every second until it has been ready for a minute, and then every five seconds', async () => {
    const bench = createBench();
    await bench.start();
    await bench.clock.advance(120_000);
    const between = gaps(bench, 0);
    expect(between.slice(0, 60)).toEqual(Array(60).fill(1000));
    expect(between.slice(60)).toEqual(Array(12).fill(4900));
  });

  it.each([
    ['with no period for rest', { periodMs: 2000, idlePeriodMs: 0 }],
    ['with a longer period', { periodMs: 10_000 }],
  ])('is asked as written %s', async (_name, definition) => {
    const bench = createBench(definition);
    await bench.start();
    await bench.clock.advance(200_000);
    expect(new Set(gaps(bench, 0))).toEqual(new Set([definition.periodMs]));
  });

  it('that is not ready is asked every second, however long', async () => {
    const bench = createBench();
    bench.automatic = result('hard');
    await bench.start();
    await bench.clock.advance(200_000);
    expect(new Set(gaps(bench, 0))).toEqual(new Set([1000]));
  });

  it('is found to hang within eight seconds, whenever it began to', async () => {
    for (const offMs of [1, 1000, 2500, 4899]) {
      const bench = await atRest();
      await bench.clock.advance(offMs);
      bench.automatic = undefined;
      // What is left is for the report.
      await bench.clock.advance(8000 - 50);
      expect(bench.monitor.state()?.ready).toBe(false);
    }
  });

  it('that takes no more connections, but keeps those that it has, is found as soon as without rest', async () => {
    // As the probes `tcp` and `unix`; `http`, `grpc` and others make a new connection in every tenth round.
    for (const [freshEveryRounds, withinMs] of [
      [5, 8000],
      [10, 13_000],
    ] as const) {
      const bench = createBenchAt(server, { timeoutMs: 1000, idlePeriodMs: 5000 }, freshEveryRounds);
      bench.automatic = result('healthy');
      await bench.start();
      await eventually(() => expect(server.connections.size).toBeGreaterThan(0));
      await bench.clock.advance(60_000 + 4 * 4900 + 1);
      bench.automatic = result('hard');
      await bench.clock.advance(withinMs);
      expect(bench.monitor.state()?.ready).toBe(false);
    }
  });

  it('is found to be dead at once', async () => {
    const bench = await atRest();
    await bench.clock.advance(1);
    bench.automatic = result('hard');
    for (const socket of server.connections) socket.destroy();
    await eventually(() => expect(bench.sentinelCloses).toBe(1));
    await bench.clock.advance(0);
    expect(bench.monitor.state()?.ready).toBe(false);
  });

  describe('is asked every second for a minute, from at once on', () => {
    it.each<[string, (bench: Bench) => Promise<void>]>([
      [
        'after an answer that was not the right one',
        async (bench) => {
          bench.automatic = result('soft');
          await bench.clock.advance(4900);
          bench.automatic = result('healthy');
        },
      ],
      [
        'after it could not be asked',
        async (bench) => {
          bench.automatic = result('unknown');
          await bench.clock.advance(4900);
          bench.automatic = result('healthy');
        },
      ],
      [
        'after it closed its connection',
        async (bench) => {
          for (const socket of server.connections) socket.end();
          await eventually(() => expect(bench.sentinelCloses).toBe(1));
        },
      ],
      [
        'after something about it changed',
        async (bench) => {
          await bench.clock.advance(2000);
          bench.monitor.doubt();
        },
      ],
      [
        'after this process stood still',
        async (bench) => {
          bench.clock.standStill(20_000);
          await bench.clock.advance(0);
        },
      ],
    ])('%s', async (_name, happen) => {
      const bench = await atRest();
      await happen(bench);
      const fromMs = bench.clock.monotonic();
      await bench.clock.advance(90_000);
      const between = gaps(bench, fromMs);
      expect(bench.monitor.state()?.ready).toBe(true);
      expect((bench.askedAtMs.find((each) => each >= fromMs) ?? Number.NaN) - fromMs).toBeLessThanOrEqual(1000);
      expect(between.filter((each) => each > 0).slice(0, 59)).toEqual(Array(59).fill(1000));
      expect(between.slice(-3)).toEqual([4900, 4900, 4900]);
    });
  });

  it('has no more than one round due', async () => {
    const bench = await atRest();
    for (let doubts = 0; doubts < 5; doubts += 1) bench.monitor.doubt();
    expect(bench.clock.pendingTimers).toBe(1);
    bench.stop.abort();
    expect(bench.clock.pendingTimers).toBe(0);
  });
});
