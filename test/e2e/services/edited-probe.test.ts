import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService, statusOf } from './node-services.ts';

const BEFORE = 'example.com/before';
const AFTER = 'example.com/after';
const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];

let embedded: EmbeddedRig;
let node: SimulatedNode;
let port: number;
let service: StandIn;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    // The agent is stopped for a while, and its silence must not decide.
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`, '--stale-after-seconds=120'],
    nodes: 1,
  });
  port = await freePort();
  node = embedded.rig.node(0);
  service = await startStandIn('http-service', { host: node.address, port });
  await embedded.rig.allReady();
});

afterAll(async () => {
  await node?.agent?.kill('SIGCONT');
  await service?.stop();
  await embedded?.stop();
});

const specOf = (at: number, label: string) => ({
  checks: [{ name: 'port', tcp: { port: at }, period: '200ms' }],
  publish: { label },
});
const status = (name: string) => statusOf(embedded.controlPlane.api, name);
const soon = (what: string, isSo: () => Promise<boolean>) => waitFor(what, isSo, { timeoutMs: 60_000 });

test.each(['edited', 'replaced'] as const)(
  'a verdict on the probe before does not confirm a NodeService that was %s',
  async (name) => {
    const { api } = embedded.controlPlane;
    const { history } = embedded.rig;
    await api.post(NODE_SERVICES, nodeService(name, specOf(port, BEFORE)));
    await history.until(node.name, BEFORE, 'true', 60_000);
    await node.agent?.kill('SIGSTOP');
    const fromMs = performance.now();
    // Nothing listens at the other port, and the agent cannot know it yet.
    const spec = specOf(await freePort(), AFTER);
    if (name === 'edited') {
      await api.patch(`${NODE_SERVICES}/${name}`, { spec });
    } else {
      await api.delete(`${NODE_SERVICES}/${name}`);
      await api.post(NODE_SERVICES, nodeService(name, spec));
    }
    await history.until(node.name, BEFORE, undefined, 60_000);
    await soon('the status', async () => (await status(name)).nodes?.unknown === 1);
    expect((await status(name)).nodes?.ready ?? 0).toBe(0);
    await node.agent?.kill('SIGCONT');
    await soon('the new verdict', async () => (await status(name)).nodes?.notReady === 1);
    await api.patch(`${NODE_SERVICES}/${name}`, { spec: specOf(port, AFTER) });
    await history.until(node.name, AFTER, 'true', 60_000);
    expect(history.since(fromMs, AFTER).map(({ to }) => to)).toEqual(['true']);
    await api.delete(`${NODE_SERVICES}/${name}`);
    await history.until(node.name, AFTER, undefined, 60_000);
  },
);
