import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { clientHello, hello, holdHellos, pourRecords, prepareKeyUpdates, type Records } from '../../rig/tls-attacks.ts';
import { processUsage } from '../../scale/process-usage.ts';

/** Attacks below HTTP, on both listeners with TLS. */

const ATTACK_MS = 2000;
const CPU_SHARE_MAX = 0.5;
/** What SECURITY.md says, and what a garbage collector keeps. */
const GROWTH_MIB_MAX = 120;
/** Two writes of the attacker, which the kernel takes without the coordinator. */
const BYTES_MAX = 1024 * 1024;

let embedded: EmbeddedRig;
let rig: Rig;
let coordinator: Coordinator;
let urls: Record<'reports' | 'extender', string>;

beforeAll(async () => {
  const port = await freePort();
  const coordinatorArgs = [`--scheduler-listen=127.0.0.1:${port}`, '--scheduler-tls=on'];
  embedded = await startEmbeddedRig({ nodes: 2, coordinatorArgs });
  rig = embedded.rig;
  await rig.allReady(60_000);
  coordinator = await rig.leader();
  urls = { reports: coordinator.reportsUrl, extender: `https://127.0.0.1:${port}` };
});
afterAll(() => embedded?.stop());

/** Attacks by so many at once, again and again; returns the share of a core, the growth in MiB, and lost labels. */
async function costOf(clients: number, attack: () => Promise<unknown>) {
  const fromMs = performance.now();
  const before = await processUsage(coordinator.pid);
  let peakMiB = before.rssMiB;
  let isOver = false;
  const one = async () => {
    while (performance.now() - fromMs < ATTACK_MS) await attack();
  };
  const running = Promise.all(Array.from({ length: clients }, one)).then(() => {
    isOver = true;
  });
  while (!isOver) {
    expect((await coordinator.get('/healthz')).status).toBe(200);
    peakMiB = Math.max(peakMiB, (await processUsage(coordinator.pid)).rssMiB);
    await sleep(50);
  }
  await running;
  const after = await processUsage(coordinator.pid);
  return {
    share: (after.cpuMs - before.cpuMs) / (performance.now() - fromMs),
    growthMiB: peakMiB - before.rssMiB,
    changes: [WS_DAEMON_READY, REGISTRY_FACADE_READY].flatMap((key) => rig.history.since(fromMs, key)),
  };
}

/** Connections, of which some may be closed before, with KeyUpdates that would hold the loop for a second and more. */
const TOGETHER = {
  reports: { connections: 400, updates: 300, least: 300 },
  extender: { connections: 120, updates: 600, least: 100 },
};
const HEALTH_MS_MAX = 500;

test.each(['reports', 'extender'] as const)(
  'key updates of all strangers of the listener %s at once hold no other answer for long',
  async (listener) => {
    const { connections, updates, least } = TOGETHER[listener];
    const { count, send } = await prepareKeyUpdates(urls[listener], connections, updates);
    expect(count).toBeGreaterThan(least);
    const fromMs = performance.now();
    let isOver = false;
    const sending = send().then(() => {
      isOver = true;
    });
    let slowestMs = 0;
    do {
      const askedMs = performance.now();
      expect((await coordinator.get('/healthz')).status).toBe(200);
      slowestMs = Math.max(slowestMs, performance.now() - askedMs);
      await sleep(10);
    } while (!isOver);
    await sending;
    expect(slowestMs).toBeLessThan(HEALTH_MS_MAX);
    expect([WS_DAEMON_READY, REGISTRY_FACADE_READY].flatMap((key) => rig.history.since(fromMs, key))).toEqual([]);
  },
);

const RECORDS = ['key updates', 'answered key updates', 'empty records', 'single bytes'] as const satisfies Records[];
const ATTACKS = (['reports', 'extender'] as const).flatMap((to) => RECORDS.map((what) => [what, to] as const));

test.each(ATTACKS)(
  '%s to the listener %s end their connection, and cost half a core at most',
  async (what, listener) => {
    const bytes = await pourRecords(urls[listener], what, ATTACK_MS);
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(BYTES_MAX);
    const { share, changes } = await costOf(20, () => pourRecords(urls[listener], what, ATTACK_MS));
    expect(share).toBeLessThan(CPU_SHARE_MAX);
    expect(changes).toEqual([]);
  },
);

test.each(['reports', 'extender'] as const)('ClientHellos of 131,000 bytes take no memory of %s', async (listener) => {
  const { growthMiB, changes } = await costOf(1, () => holdHellos(urls[listener], 2000, 131_000));
  expect(growthMiB).toBeLessThan(GROWTH_MIB_MAX);
  expect(changes).toEqual([]);
});

test.each(['reports', 'extender'] as const)(
  'a constant ClientHello, again and again, costs %s half a core at most',
  async (listener) => {
    const bytes = clientHello();
    // After the attacks before, it may have to wait for its turn.
    await waitFor('an answer', async () => (await hello(urls[listener], bytes)).bytesRead > 100);
    const { share, changes } = await costOf(200, async () => (await hello(urls[listener], bytes)).destroy());
    expect(share).toBeLessThan(CPU_SHARE_MAX);
    expect(changes).toEqual([]);
  },
);
