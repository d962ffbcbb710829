import { afterEach, beforeEach, expect, test } from 'vitest';
import { createNode, createPod, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { eachOf } from '../../scale/each-of.ts';
import { startThrottlingProxy, type ThrottlingProxy } from '../apply/throttling-proxy.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

// A delay of the guard `configuration` goes on where it was, whatever becomes of the watch meanwhile.

const nodes = Array.from({ length: 24 }, (_, index) => `n${index}`);
const KEPT = nodes.length - 10;
const SERVICES = ['one', 'two'];
const LABEL = 'service.rollcall.dev/one';
const DELAY_MS = 30_000;
/** Ticks are a second apart, and the machine is shared. */
const SLACK_MS = 8000;
/** A delay that began anew after the loss would end later than the slack allows. */
const LOSS_MS = SLACK_MS + 3000;

let embedded: EmbeddedRig;
let proxy: ThrottlingProxy;

beforeEach(async () => {
  const coordinatorArgs = [`--mass-withdrawal-delay-seconds=${DELAY_MS / 1000}`];
  embedded = await startEmbeddedRig({
    ...{ nodes: 0, coordinatorArgs },
    prepare: async (controlPlane) => {
      await applyNodeServiceCrd(controlPlane);
      proxy = await startThrottlingProxy(controlPlane);
      coordinatorArgs.push(`--master=${proxy.url}`);
    },
  });
  const { api } = embedded.controlPlane;
  const labels = { app: 'cache' };
  await eachOf(nodes, 8, async (nodeName) => {
    await createNode(api, nodeName);
    await createPod(api, { namespace: 'default', name: `cache-${nodeName}`, nodeName, ready: true, labels });
  });
  const pods = { namespace: 'default', selector: { matchLabels: labels } };
  for (const name of SERVICES) await api.post(NODE_SERVICES, nodeService(name, { checks: [{ name: 'pod', pods }] }));
  await untilHaving(nodes.length);
});

afterEach(async () => {
  await embedded?.stop();
  await proxy?.stop();
});

async function having(): Promise<string[]> {
  const all = await embedded.controlPlane.api.list<NodeObject>('/api/v1/nodes');
  return all.filter(({ metadata }) => metadata.labels?.[LABEL] !== undefined).map(({ metadata }) => metadata.name);
}

async function untilHaving(count: number, timeoutMs = 60_000): Promise<number> {
  await waitFor(`${count} nodes with the label`, async () => (await having()).length === count, { timeoutMs });
  return performance.now();
}

/** Deletes both services. Returns when, once ten nodes have lost the label. */
async function deleteServices(): Promise<number> {
  const startMs = performance.now();
  for (const name of SERVICES) await embedded.controlPlane.api.delete(`${NODE_SERVICES}/${name}`);
  await untilHaving(KEPT);
  return startMs;
}

/** The label stays on the others until the delay is over that began then, and no longer. */
async function endsInTime(startMs: number): Promise<void> {
  while (performance.now() - startMs < DELAY_MS - 3000) {
    expect(await having()).toHaveLength(KEPT);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const tookMs = (await untilHaving(0)) - startMs;
  expect(tookMs).toBeGreaterThan(DELAY_MS - 3000);
  expect(tookMs).toBeLessThan(DELAY_MS + SLACK_MS);
}

test('a watch of NodeServices that is lost while a delay runs does not begin it anew', async () => {
  const startMs = await deleteServices();
  const mend = proxy.cut(NODE_SERVICES);
  const leader = await embedded.rig.leader();
  await waitFor('the loss', () => leader.tail().includes('Failed to list or watch'), { timeoutMs: 10_000 });
  // Every node is evaluated while it is not known which services there are.
  const { api } = embedded.controlPlane;
  await eachOf(nodes, 8, (name) =>
    api.patch(`/api/v1/nodes/${name}`, { metadata: { labels: { touched: 'true' } } }, 'application/merge-patch+json'),
  );
  await new Promise((resolve) => setTimeout(resolve, LOSS_MS));
  mend();
  await endsInTime(startMs);
});
