import { test } from 'vitest';
import { createNode } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { installFence } from '../../rig/fence.ts';
import type { Rig } from '../../rig/rig.ts';
import { FACADE_TAINT, NodeStates, taintKeys, WORKSPACE_NODE, WS_TAINT } from './node-states.ts';

const COORDINATOR = 'system:serviceaccount:rollcall:rollcall-coordinator';

async function succeed(rig: Rig): Promise<void> {
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await rig.addCoordinator(['--gitpod=false']);
}

test.each([
  ['another coordinator', succeed],
  ['--prune', (rig: Rig) => rig.prune(['--gitpod=false'])],
])('labels and taints of Gitpod go without it, by %s, although the fence no longer knows them', async (_, end) => {
  const { rig, controlPlane, stop } = await startEmbeddedRig({
    nodes: 0,
    coordinatorArgs: ['--readiness-gate=both'],
  });
  const states = new NodeStates(controlPlane.api);
  try {
    const { name: ready } = await rig.addNode({ labels: WORKSPACE_NODE });
    await createNode(controlPlane.api, 'broken', { labels: WORKSPACE_NODE });
    await rig.allReady();
    await states.until('broken', 'to have the taints', (state) =>
      [FACADE_TAINT, WS_TAINT].every((key) => taintKeys(state).includes(key)),
    );

    // The fence that the chart renders.
    await installFence(controlPlane, { services: [{ label: '', taint: '' }] });
    const label = ['label', 'node', 'broken', `${WS_DAEMON_READY}=true`, '--dry-run=server', `--as=${COORDINATOR}`];
    const refusal = () => controlPlane.kubectl(label).then(() => '', String);
    await waitFor('the fence', async () => (await refusal()).includes('rollcall may not change the labels'));

    await end(rig);
    await states.until(ready, 'to have no label', ({ labels }) =>
      [REGISTRY_FACADE_READY, WS_DAEMON_READY].every((key) => labels[key] === undefined),
    );
    await states.until('broken', 'to have no taint', ({ taints }) => taints.length === 0);
  } finally {
    states.stop();
    await stop();
  }
});
