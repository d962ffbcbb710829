import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { HealthChecks } from '@rollcall/common/health.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { registerProbeMetrics } from './probes/metrics.ts';
import type { Probe, ProbeResult, ServiceDefinition } from './probes/types.ts';
import { ServicesWatch } from './services-watch.ts';

const DEFAULT: ProbeTarget = { host: '127.0.0.1', port: 1 };

let clock: FakeClock;
let lifetime: AbortController;
let health: HealthChecks;
let changes: number;
/** Answers of the probes in wait, by service. */
let pending: Map<string, (result: ProbeResult) => void>;
let probed: Map<string, ProbeTarget>;
let watch: ServicesWatch;

beforeEach(() => {
  clock = new FakeClock();
  lifetime = new AbortController();
  health = new HealthChecks();
  changes = 0;
  pending = new Map();
  probed = new Map();
  watch = new ServicesWatch({
    definitions: [define('a'), define('b')],
    clock,
    random: () => 0,
    logger: silentLogger(),
    metrics: registerProbeMetrics(new Registry(), ['a', 'b']),
    health,
    signal: lifetime.signal,
    onChange: () => {
      changes += 1;
    },
  });
});

afterEach(() => lifetime.abort());

function define(name: string): ServiceDefinition {
  const probe: Probe = (target) => {
    probed.set(name, target);
    return new Promise((resolve) => pending.set(name, resolve));
  };
  const thresholds = { failureThreshold: 3, successThreshold: 1 };
  return { name, defaultTarget: DEFAULT, probe, periodMs: 1000, timeoutMs: 1000, ...thresholds };
}

async function answer(name: string, verdict: ProbeResult['verdict']) {
  pending.get(name)?.({ verdict, evidence: verdict, latencyMs: 1 });
  await clock.advance(0);
}

test('there is no state before every service was looked at', async () => {
  watch.start();
  await clock.advance(0);
  expect(watch.unseen()).toEqual(['a', 'b']);
  await answer('a', 'hard');
  expect(watch.unseen()).toEqual(['b']);
  expect(watch.states()).toBeUndefined();
  await answer('b', 'hard');
  expect(watch.unseen()).toEqual([]);
  expect(watch.states()).toMatchObject([
    { name: 'a', ready: false },
    { name: 'b', ready: false },
  ]);
  expect(changes).toBe(2);
});

test('a service is probed where it is said to be, and at its default when nothing is said about it', async () => {
  const elsewhere = { host: '10.0.0.1', port: 2 };
  watch.start();
  await clock.advance(0);
  watch.retarget(new Map([['a', elsewhere]]));
  await clock.advance(1000);
  expect(probed).toEqual(
    new Map([
      ['a', elsewhere],
      ['b', DEFAULT],
    ]),
  );
  watch.retarget(new Map());
  await clock.advance(0);
  expect(probed.get('a')).toEqual(DEFAULT);
});

test('a service whose probes never come back makes the agent unhealthy, by name', async () => {
  watch.start();
  for (let second = 0; second < 60; second += 1) {
    await clock.advance(1000);
    await answer('a', 'hard');
  }
  expect(health.evaluate('probe-a')?.healthy).toBe(true);
  expect(health.evaluate('probe-b')?.healthy).toBe(false);
});
