import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { serviceIn } from '../gitpod/explained.ts';

/** One more than what damping forgives within five minutes. */
const RESTARTS = 4;

let embedded: EmbeddedRig;
let node: SimulatedNode;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 1 });
  node = embedded.rig.node(0);
  await embedded.rig.allReady();
});
afterAll(() => embedded?.stop());

/** Waits until the agent that runs now is ready, and has told the leader of ws-daemon at the address of its pod. */
async function untilVouchedFor(): Promise<void> {
  const leader = await embedded.rig.leader();
  await node.agent?.waitForLog('Delivered the first report');
  await waitFor('the agent to be ready', async () => (await httpGet(`${node.healthUrl}/readyz`)).status === 200);
  const isVouchedFor = async () => {
    const { state, reason } = serviceIn(await leader.explain(node.name), 'ws-daemon');
    return state === 'ready' && reason?.includes(node.podAddress);
  };
  await waitFor('ws-daemon to be vouched for', isVouchedFor);
}

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'an agent that is restarted often by %s costs no label, where ws-daemon listens on the address of its pod alone',
  async (signal) => {
    const fromMs = performance.now();
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      await node.agent?.kill(signal);
      node.startAgent();
      await untilVouchedFor();
    }
    expect(embedded.rig.history.since(fromMs, WS_DAEMON_READY)).toEqual([]);
    expect(embedded.rig.history.since(fromMs, REGISTRY_FACADE_READY)).toEqual([]);
    const { heldBack } = serviceIn(await (await embedded.rig.leader()).explain(node.name), 'ws-daemon');
    expect(heldBack).toBeUndefined();
  },
);
