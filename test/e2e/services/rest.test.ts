// A service that has been ready for a minute is asked every 5 s, by the defaults of the agent. What that must not cost: a
// service that hangs is noticed within 8 s, and one that is killed at once.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sumSamples } from '../../control-plane/metrics-text.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

const NAMES = ['hangs', 'dies', 'often'] as const;
/** Beyond it, a service that is asked every second has been asked too often to be at rest. */
const RESTING_MS = 10_000;
const HANG_NOTICED_MS = 8000;
/** Many times what it takes: the machine may be busy. A round at rest would come later on average. */
const DEATH_NOTICED_MS = 1000;

let embedded: EmbeddedRig;
let node: SimulatedNode;
const services = new Map<string, StandIn>();

const label = (name: string) => `service.rollcall.dev/${name}`;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 1, prepare: applyNodeServiceCrd });
  node = embedded.rig.node(0);
  for (const name of NAMES) {
    const port = await freePort();
    services.set(name, await startStandIn('http-service', { host: node.address, port }));
    const check = { name: 'answers', http: { port, path: '/healthz' }, ...(name === 'often' ? { period: '1s' } : {}) };
    await embedded.controlPlane.api.post(NODE_SERVICES, nodeService(name, { checks: [check] }));
  }
  for (const name of NAMES) await embedded.rig.history.until(node.name, label(name), 'true', 60_000);
}, 120_000);

afterAll(async () => {
  await Promise.all([...services.values()].map((service) => service.stop()));
  await embedded?.stop();
});

async function asked(name: string): Promise<number> {
  const { body } = await httpGet(`${node.healthUrl}/metrics`);
  return sumSamples(body, 'rollcall_agent_probes_total', { service: `${name}/answers` });
}

/** Milliseconds until the label of a service is gone. */
async function untilGone(name: string, happen: (service: StandIn | undefined) => Promise<void> | undefined) {
  const fromMs = performance.now();
  await happen(services.get(name));
  await embedded.rig.history.until(node.name, label(name), undefined);
  const [gone] = embedded.rig.history.since(fromMs, label(name), node.name);
  return (gone?.atMs ?? Number.NaN) - fromMs;
}

test('a service at rest is asked less often, is found to hang within 8 s, and to be dead at once', async () => {
  const isResting = async () => {
    const before = await asked('hangs');
    await sleep(RESTING_MS);
    return (await asked('hangs')) - before <= 3;
  };
  await waitFor('a service at rest', isResting, { timeoutMs: 120_000 });

  const often = await asked('often');
  expect(await untilGone('hangs', (service) => service?.kill('SIGSTOP'))).toBeLessThanOrEqual(HANG_NOTICED_MS);
  // Its check has a period of its own, which holds at rest as well.
  expect((await asked('often')) - often).toBeGreaterThanOrEqual(3);

  expect(await untilGone('dies', (service) => service?.kill('SIGKILL'))).toBeLessThan(DEATH_NOTICED_MS);
}, 240_000);
