import { HealthChecks } from '@rollcall/common/health.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idleLine, lineWithoutConnection } from './probes/idle-line.ts';
import { registerProbeMetrics } from './probes/metrics.ts';
import type { WatchedService } from './probes/service-list.ts';
import type { Probe, ProbeAddress, ProbeResult, ServiceDefinition } from './probes/types.ts';
import { ServicesWatch } from './services-watch.ts';

const HERE: ProbeTarget = { host: '127.0.0.1', port: 1 };
const ELSEWHERE: ProbeTarget = { host: '127.0.0.2', port: 2 };

let clock: FakeClock;
let lifetime: AbortController;
let health: HealthChecks;
let registry: Registry;
let changes: number;
let logged: { msg: string; fields: Record<string, unknown> }[];
/** Answers of the probes in wait, by service. */
let pending: Map<string, (result: ProbeResult) => void>;
let probed: Map<string, ProbeAddress>;
let watch: ServicesWatch;

beforeEach(() => {
  clock = new FakeClock();
  lifetime = new AbortController();
  health = new HealthChecks();
  registry = new Registry();
  changes = 0;
  pending = new Map();
  probed = new Map();
  logged = [];
  const keep = (fields: Record<string, unknown>, msg: string) => logged.push({ msg, fields });
  watch = new ServicesWatch({
    clock,
    logger: { info: keep, warn: keep } as unknown as Logger,
    metrics: registerProbeMetrics(registry),
    health,
    signal: lifetime.signal,
    onChange: () => {
      changes += 1;
    },
  });
});

afterEach(() => lifetime.abort());

function define(name: string, change: Partial<Pick<WatchedService, 'how' | 'digest'> & ServiceDefinition> = {}) {
  const probe: Probe = (target, signal) => {
    probed.set(name, target);
    return new Promise((resolve) => {
      pending.set(name, resolve);
      signal.addEventListener('abort', () => resolve({ verdict: 'soft', evidence: 'given up' }));
    });
  };
  const rest = { periodMs: 1000, timeoutMs: 1000, failureThreshold: 1, successThreshold: 1, how: 'by asking' };
  // Nothing listens where an idle connection would be held, and one that is refused ends a rest.
  const openLine = change.idlePeriodMs === undefined ? idleLine(probe) : lineWithoutConnection(probe);
  return { name, digest: 'd', target: HERE, openLine, ...rest, ...change } satisfies WatchedService;
}

async function begin(services: WatchedService[]) {
  watch.watch(services);
  await clock.advance(0);
}

async function answer(name: string, verdict: ProbeResult['verdict'], evidence: string = verdict) {
  pending.get(name)?.({ verdict, evidence, latencyMs: 1 });
  await clock.advance(0);
}

describe('a list that is edited again and again', () => {
  const MANY = 195;
  const edited = (edit: number) =>
    Array.from({ length: MANY }, (_, index) => define(`many-${index}`, { how: `edit ${edit}` }));
  /** How many were probed since. */
  const probes = () => {
    const names = [...probed.keys()];
    probed.clear();
    return names;
  };

  test('costs 50 probes a second, in turn, so that each check is probed', async () => {
    const seen = new Set<string>();
    let most = 0;
    for (let edit = 0; edit < 5; edit += 1) {
      await begin(edited(edit));
      for (let tenth = 0; tenth < 10; tenth += 1) {
        // An edit comes before the first rounds.
        await clock.advance(99);
        const names = probes();
        if (edit + tenth > 0) most = Math.max(most, names.length);
        for (const name of names) seen.add(name);
      }
    }
    expect(most).toBeLessThanOrEqual(6);
    expect(seen.size).toBe(MANY);
  });

  test('does not delay the first probe of a check that moves', async () => {
    await begin([...edited(0), define('honest')]);
    await clock.advance(5000);
    await answer('honest', 'healthy');
    await begin([...edited(1), define('honest')]);
    probes();
    await begin([...edited(2), define('honest', { target: ELSEWHERE })]);
    await clock.advance(20);
    expect(probes()).toEqual(['honest']);
  });

  test('keeps nothing of checks that are gone', async () => {
    await begin(edited(0));
    await begin([]);
    probes();
    await clock.advance(10_000);
    expect([probes(), clock.pendingTimers]).toEqual([[], 0]);
  });
});

const UNKNOWN = { ready: false, unknown: true, evidence: expect.stringMatching(/^not known yet: /) };

describe('what is known of a service', () => {
  test('is nothing until it was probed often enough, and that is said', async () => {
    await begin([define('a'), define('b', { successThreshold: 2 })]);
    expect(watch.unseen()).toEqual(['a', 'b']);
    expect(watch.states()).toMatchObject([
      { name: 'a', ...UNKNOWN },
      { name: 'b', ...UNKNOWN },
    ]);
    await answer('a', 'hard');
    await answer('b', 'healthy');
    expect(watch.unseen()).toEqual([]);
    expect(watch.states()).toMatchObject([{ name: 'a', ready: false, evidence: 'hard' }, UNKNOWN]);
    expect(watch.states()[0]).not.toHaveProperty('unknown');
    await clock.advance(1000);
    await answer('b', 'healthy');
    expect(watch.states()[1]).toMatchObject({ ready: true, evidence: 'healthy' });
  });

  test('is nothing at all before there is a list, and nothing is probed', async () => {
    expect(watch.hasList).toBe(false);
    expect([watch.states(), probed.size]).toEqual([[], 0]);
    await begin([define('a')]);
    expect([watch.hasList, probed.size]).toEqual([true, 1]);
  });

  test('is nothing yet at another address', async () => {
    await begin([define('a')]);
    await answer('a', 'hard');
    await begin([define('a', { target: ELSEWHERE })]);
    expect(watch.states()).toMatchObject([UNKNOWN]);
    expect(probed.get('a')).toEqual(ELSEWHERE);
    await answer('a', 'healthy');
    expect(watch.states()).toMatchObject([{ ready: true }]);
  });

  test('is that it is not ready where it may not be probed, with the reason', async () => {
    await begin([{ name: 'a', digest: 'd', how: '', refusal: 'no target is known' }]);
    expect(watch.unseen()).toEqual([]);
    expect(watch.states()).toMatchObject([{ ready: false, evidence: 'not probed: no target is known' }]);
    expect(watch.states()[0]).not.toHaveProperty('unknown');
    expect(logged.map(({ msg }) => msg)).toEqual(['Refused to probe a service']);
  });

  test('is told with the reason why it is not known', async () => {
    const evidence = () => watch.states().map((state) => state.evidence);
    await begin([define('a', { successThreshold: 2 })]);
    expect(evidence()).toEqual(['not known yet: not probed yet']);
    await answer('a', 'healthy');
    expect(evidence()).toEqual(['not known yet: not probed often enough yet']);
  });
});

describe('the list', () => {
  test('knows nothing of a service at another address, by another probe or by other thresholds, under their digest', async () => {
    await begin([define('a', { digest: 'one' }), define('b')]);
    await answer('a', 'healthy');
    expect(watch.states()[0]).toMatchObject({ ready: true, digest: 'one' });
    for (const change of [{ target: ELSEWHERE }, { target: ELSEWHERE, how: 'by asking twice' }]) {
      await begin([define('a', { ...change, digest: 'two' }), define('b')]);
      expect(Object.fromEntries(probed)).toEqual({ a: ELSEWHERE, b: HERE });
      expect(watch.states()[0]).toMatchObject({ ...UNKNOWN, digest: 'two' });
      await answer('a', 'healthy');
      expect(watch.states()[0]).toMatchObject({ ready: true, digest: 'two' });
    }
  });

  test('keeps what is known of a check that has another digest and is the same to the agent', async () => {
    await begin([define('a')]);
    await answer('a', 'healthy');
    for (const digest of ['one', 'two']) {
      await begin([define('a', { digest })]);
      expect(watch.states()[0]).toMatchObject({ ready: true, digest });
    }
  });

  test('changes how a service is probed, without a restart', async () => {
    await begin([define('a')]);
    await answer('a', 'healthy');
    await begin([define('a', { how: 'otherwise' })]);
    expect(watch.states()).toMatchObject([UNKNOWN]);
    expect(health.evaluate('probe-a')).toBeDefined();
    expect(await registry.metrics()).toContain('service="a"');
    await answer('a', 'healthy');
    expect(watch.states()).toMatchObject([{ ready: true }]);
  });

  test('ends the check of a service that may not be probed any more', async () => {
    await begin([define('a')]);
    expect(health.evaluate('probe-a')).toBeDefined();
    await begin([{ name: 'a', digest: 'd', how: '', refusal: 'no target is known' }]);
    expect(health.evaluate('probe-a')).toBeUndefined();
  });

  test('ends what is no longer in it, and begins what is new', async () => {
    await begin([define('a')]);
    await answer('a', 'healthy');
    await begin([define('b')]);
    expect(watch.states()).toMatchObject([{ name: 'b', ...UNKNOWN }]);
    expect(health.evaluate('probe-a')).toBeUndefined();
    expect(health.evaluate('probe-b')).toBeDefined();
    expect(await registry.metrics()).not.toContain('service="a"');
    probed.clear();
    await clock.advance(5000);
    expect([...probed.keys()]).toEqual(['b']);
  });

  test('is over with the agent', async () => {
    await begin([define('a')]);
    lifetime.abort();
    probed.clear();
    await begin([define('b')]);
    await clock.advance(5000);
    expect([probed.size, clock.pendingTimers]).toEqual([0, 0]);
  });
});

describe('a service at rest', () => {
  /** Milliseconds from now until it is probed again. */
  async function untilProbed(name: string): Promise<number> {
    probed.clear();
    let waitedMs = 0;
    for (; !probed.has(name) && waitedMs < 10_000; waitedMs += 100) await clock.advance(100);
    await answer(name, 'healthy');
    return waitedMs;
  }

  async function rest(): Promise<void> {
    await begin([define('a', { idlePeriodMs: 5000 })]);
    await answer('a', 'healthy');
    for (let round = 0; round < 62; round += 1) await untilProbed('a');
    expect(await untilProbed('a')).toBe(4900);
  }

  test('is asked every second again when the list changes, and not when the same list comes again', async () => {
    await rest();
    await begin([define('a', { idlePeriodMs: 5000 }), define('b')]);
    expect(await untilProbed('a')).toBe(1000);
  });

  test('shares its wake-ups with all others', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `service-${index}`);
    await begin(names.map((name) => define(name, { idlePeriodMs: 5000 })));
    const wokenAtMs = new Set<number>();
    for (let passedMs = 0; passedMs < 120_000; passedMs += 100) {
      probed.clear();
      await clock.advance(100);
      for (const name of probed.keys()) await answer(name, 'healthy');
      if (passedMs >= 70_000 && probed.size > 0) wokenAtMs.add(clock.monotonic());
    }
    expect(wokenAtMs.size).toBeLessThanOrEqual(11);
  });
});

describe('a change', () => {
  test('of what is ready is news; one of the evidence alone is not, and is logged once a minute', async () => {
    await begin([define('a')]);
    await answer('a', 'hard', 'answered 500');
    const before = changes;
    for (let second = 1; second < 120; second += 1) {
      await clock.advance(1000);
      await answer('a', 'hard', `answered ${500 + (second % 3)}`);
    }
    expect(changes).toBe(before);
    expect(logged.map(({ msg }) => msg)).toEqual(['Saw a change of a service', 'Saw a change of a service']);
    await clock.advance(1000);
    await answer('a', 'healthy');
    expect(changes).toBe(before + 1);
    expect(logged.at(-1)?.fields).toMatchObject({ service: 'a', ready: true });
  });
});

test('the same verdict as before is news after the process stood still', async () => {
  await begin([define('a')]);
  await answer('a', 'healthy');
  const before = changes;
  await clock.advance(1000);
  await answer('a', 'healthy');
  expect([changes, watch.states()[0]?.ready]).toEqual([before, true]);
  clock.standStill(60_000);
  expect(watch.states()).toMatchObject([UNKNOWN]);
  await clock.advance(0);
  await answer('a', 'healthy');
  expect([changes, watch.states()[0]?.ready]).toEqual([before + 1, true]);
});

test('a service whose probes never come back makes the agent unhealthy, by name', async () => {
  const stuck = { ...define('b'), timeoutMs: 3_000 };
  await begin([define('a'), { ...stuck, openLine: idleLine(() => new Promise(() => {})) }]);
  for (let second = 0; second < 60; second += 1) {
    await clock.advance(1000);
    await answer('a', 'hard');
    // As a kubelet asks.
    if (second % 10 === 0) health.evaluate();
  }
  expect(health.evaluate('probe-a')?.healthy).toBe(true);
  expect(health.evaluate('probe-b')?.healthy).toBe(false);
});

test.each([
  [1000, 0, 1000, 30_000],
  [1000, 0, 6000, 60_000],
  [6000, 0, 1000, 60_000],
  [1000, 5000, 1000, 50_000],
])(
  'a service with a period of %d ms, at rest %d ms, and a time-out of %d ms may be silent for %d ms',
  async (periodMs, idlePeriodMs, timeoutMs, limitMs) => {
    const openLine = idleLine(() => new Promise(() => {}));
    await begin([{ ...define('a'), periodMs, idlePeriodMs, timeoutMs, openLine }]);
    await clock.advance(limitMs);
    expect(health.evaluate('probe-a')?.healthy).toBe(true);
    await clock.advance(1000);
    expect(health.evaluate('probe-a')?.healthy).toBe(false);
  },
);
