import { afterAll, beforeAll, expect, test } from 'vitest';
import { sumSamples } from '../../control-plane/metrics-text.ts';
import { stolenToken } from '../../rig/attacks.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { Flood } from '../../rig/flood.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { Rig } from '../../rig/rig.ts';

/** What the chart gives the coordinator. */
const MEMORY_BYTES_MAX = 1024 ** 3;

let embedded: EmbeddedRig;
let rig: Rig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 3 });
  rig = embedded.rig;
  await rig.allReady(60_000);
});
afterAll(() => embedded?.stop());

/** Reports of the agents of these nodes that were not taken. */
async function refusedReports(nodes: readonly { healthUrl: string }[]): Promise<number> {
  let count = 0;
  for (const { healthUrl } of nodes) {
    const { body } = await httpGet(`${healthUrl}/metrics`);
    for (const result of ['refused', 'failed']) count += sumSamples(body, 'rollcall_agent_reports_total', { result });
  }
  return count;
}

test('a flood of everything at once costs no other client a label, a report or an answer', async () => {
  const coordinator = await rig.leader();
  const [victim, ...others] = rig.nodes;
  if (!victim) throw new Error('There is no node');
  const fromMs = performance.now();
  const reviews = () => embedded.controlPlane.requestTotals({ resource: 'tokenreviews' });
  const [reviewsBefore, refusedBefore] = [await reviews(), await refusedReports(others)];
  const stolen = { node: victim.name, token: await stolenToken(victim.tokenFile) };
  const { reportsUrl, healthUrl } = coordinator;
  const flood = new Flood({ reportsUrl, healthUrl, stolen });
  const node = rig.node(1);
  for (let round = 0; round < 3; round += 1) {
    await node.kill('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    await node.revive('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true', 60_000);
  }
  const memory = await coordinator.metric('process_resident_memory_bytes');
  const result = await flood.stop();
  expect(result.unhealthy).toBe(0);
  expect([...result.madeUp.keys()].filter((status) => status !== 401 && status !== 0)).toEqual([]);
  expect(result.madeUp.get(401)).toBeGreaterThan(0);
  expect([...result.stolen.keys()].filter((status) => ![0, 200, 429].includes(status))).toEqual([]);
  expect(memory).toBeLessThan(MEMORY_BYTES_MAX);
  expect(await reviews()).toBe(reviewsBefore);
  expect(await refusedReports(others)).toBe(refusedBefore);
  const bystander = rig.node(2).name;
  for (const key of [WS_DAEMON_READY, REGISTRY_FACADE_READY]) {
    expect(rig.history.since(fromMs, key, bystander)).toEqual([]);
  }
}, 180_000);
