import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { isOpen, NodeStates, WORKSPACE_NODE } from './node-states.ts';
import { firstPod, probeIn, shownService } from './service-pods.ts';

type StoredEvent = KubeObject & {
  reason: string;
  type: string;
  message: string;
  count: number;
  involvedObject: { kind: string; name: string; uid: string };
};

let embedded: EmbeddedRig;
let rig: Rig;
let states: NodeStates;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 0, coordinators: 2, coordinatorArgs: ['--stale-after-seconds=6'] });
  rig = embedded.rig;
  states = new NodeStates(embedded.controlPlane.api);
});
afterAll(async () => {
  states?.stop();
  await embedded?.stop();
});

const api = () => embedded.controlPlane.api;

/** Events about ws-daemon on a node, such as `3 Normal ServiceReady: message`, sorted. */
async function told(node: string): Promise<string[]> {
  const events = await api().list<StoredEvent>('/api/v1/namespaces/default/events');
  return events
    .filter(({ involvedObject, message }) => involvedObject.name === node && message.startsWith('ws-daemon is '))
    .map(({ count, type, reason, message }) => `${count} ${type} ${reason}: ${message}`)
    .toSorted();
}

async function untilShown(node: SimulatedNode, isReady: boolean): Promise<void> {
  await states.until(node.name, isReady ? 'to be ready' : 'not to be ready', (state) => {
    return isOpen(state, 'ws-daemon') === isReady;
  });
}

const counts = async (leader: Coordinator, component: string) => ({
  changes: await leader.metric('gitpod_node_labeler_reconcile_total', { component }),
  observed: await leader.metric('gitpod_node_labeler_ready_seconds_count', { component }),
});

/** The counts, once what happened before is in them. */
async function settledCounts(leader: Coordinator, component: string): ReturnType<typeof counts> {
  let last = await counts(leader, component);
  let same = 0;
  await waitFor(
    'the counts to stand still',
    async () => {
      const next = await counts(leader, component);
      same = isDeepStrictEqual(next, last) ? same + 1 : 0;
      last = next;
      return same === 5;
    },
    { everyMs: 50 },
  );
  return last;
}

describe.each(['label', 'taint', 'both'] as const)('with the gate %s', (gate) => {
  let leader: Coordinator;
  let node: SimulatedNode;
  beforeAll(async () => {
    const old = await rig.leader();
    for (const each of [...rig.coordinators]) if (each !== old) await rig.endCoordinator(each, 'SIGTERM');
    const next = await rig.addCoordinator([`--readiness-gate=${gate}`]);
    await next.ready();
    await rig.endCoordinator(old, 'SIGTERM');
    leader = await rig.leader();
    // Not for workspaces yet, and not ready yet, so that it begins with a change that is told.
    node = await rig.addNode();
    await setPodReady(api(), 'default', firstPod(node, 'ws-daemon'), false);
    await untilShown(node, false);
    await api().patch(`/api/v1/nodes/${node.name}`, { metadata: { labels: WORKSPACE_NODE } });
    const started = { status: { startTime: new Date(Date.now() - 7000).toISOString().replace(/\.\d+/, '') } };
    await api().patch(`/api/v1/namespaces/default/pods/${firstPod(node, 'ws-daemon')}/status`, started);
    const probed = async () => probeIn(await shownService(rig, node.name, 'ws-daemon'))?.state === 'ready';
    await waitFor('a report', probed);
    // Two services that become ready at once share an Event.
    await states.until(node.name, 'the other to be ready', (state) => isOpen(state, 'registry-facade'));
  });

  test('every change is told by one Event, with the evidence', async () => {
    const pod = firstPod(node, 'ws-daemon');
    const earlier = (await told(node.name)).length;
    await setPodReady(api(), 'default', pod, true);
    await untilShown(node, true);
    const { reason } = await shownService(rig, node.name, 'ws-daemon');
    await setPodReady(api(), 'default', pod, false);
    await untilShown(node, false);
    await setPodReady(api(), 'default', pod, true);
    await untilShown(node, true);
    await node.kill('ws-daemon');
    await untilShown(node, false);
    const gone = (await shownService(rig, node.name, 'ws-daemon')).reason;
    expect(gone).toMatch(/refused/);
    const expected = [
      `Normal ServiceReady: ws-daemon is ready: ${reason}`,
      `Warning ServiceNotReady: ws-daemon is not ready: pod default/${pod} is not Ready`,
      `Warning ServiceNotReady: ws-daemon is not ready: ${gone}`,
    ];
    await expect.poll(() => told(node.name).then((all) => all.length), { timeout: 5000 }).toBeGreaterThanOrEqual(3);
    await expect
      .poll(() => told(node.name), { timeout: 5000 })
      .toEqual([`${earlier + 1} ${expected[1]}`, `1 ${expected[2]}`, `2 ${expected[0]}`]);
    await node.revive('ws-daemon');
    await untilShown(node, true);
  });

  test('P18: each time that ws-daemon becomes ready is counted and measured once, and nothing else is', async () => {
    const before = await settledCounts(leader, 'ws-daemon');
    const other = await settledCounts(leader, 'registry-facade');
    await setPodReady(api(), 'default', firstPod(node, 'ws-daemon'), false);
    await untilShown(node, false);
    expect(await counts(leader, 'ws-daemon')).toEqual(before);
    await setPodReady(api(), 'default', firstPod(node, 'ws-daemon'), true);
    await untilShown(node, true);
    const once = { changes: before.changes + 1, observed: before.observed + 1 };
    await expect.poll(() => counts(leader, 'ws-daemon')).toEqual(once);
    const bucket = (le: string) =>
      leader.metric('gitpod_node_labeler_ready_seconds_bucket', { component: 'ws-daemon', le });
    expect([await bucket('5'), await bucket('75')]).toEqual([0, once.observed]);
    // What changes nothing: news of the pod and of the node, and a report.
    const reports = () => leader.metric('rollcall_coordinator_reports_total');
    const heard = await reports();
    await api().patch(`/api/v1/namespaces/default/pods/${firstPod(node, 'ws-daemon')}`, {
      metadata: { annotations: { touched: 'yes' } },
    });
    await api().patch(`/api/v1/nodes/${node.name}`, { metadata: { annotations: { touched: 'yes' } } });
    await waitFor('a report', async () => (await reports()) > heard);
    expect(await counts(leader, 'ws-daemon')).toEqual(once);
    expect(await counts(leader, 'registry-facade')).toEqual(other);
  });
});
