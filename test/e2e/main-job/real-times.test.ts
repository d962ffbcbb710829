import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNamespace, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { type Cluster, coordinatorClient, label, newNode, startCluster, startWriterRig } from '../apply/writer-rig.ts';
import {
  allowDisruptions,
  createBudget,
  createMisplaced,
  labelGone,
  startReplica,
  staying,
} from '../eviction/eviction-stage.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from '../services/node-services.ts';

// Other tests give their programs a faster clock. These measure on the clock of the machine what the programs wait for.

const LEASE_MS = 15_000;
const RENEWAL_MS = 2000;
const HOLD_MS = 10_000;
const STOOD_STILL_MS = 13_000;
const DISCOVERY_MS = 30_000;
const KEEPS_AWAY_MS = 8000;
/** The first time that a refused eviction is tried again. */
const BLOCKED_MS = { min: 10_000, max: 20_000 };
/** For the work itself. */
const WORK_MS = 4000;

let embedded: EmbeddedRig;
let rig: Rig;
let cluster: Cluster;
beforeAll(async () => {
  [embedded, cluster] = await Promise.all([
    startEmbeddedRig({ nodes: 5, coordinators: 2, coordinatorArgs: ['--stale-after-seconds=6'] }),
    startCluster(),
  ]);
  rig = embedded.rig;
  await rig.allReady(60_000);
});
afterAll(async () => {
  await embedded?.stop();
  await cluster?.controlPlane.stop();
});

/** How long it takes until it is so, in milliseconds. */
async function timeUntil(what: string, isSo: () => unknown, timeoutMs = 60_000): Promise<number> {
  const fromMs = performance.now();
  await waitFor(what, isSo, { timeoutMs });
  return performance.now() - fromMs;
}

describe.concurrent('in real time', () => {
  test('a service is held back for 10 s after its fourth fall', async () => {
    const { name } = rig.node(0);
    let fellMs = 0;
    for (let fall = 1; fall <= 4; fall += 1) {
      fellMs = performance.now();
      await setPodReady(embedded.controlPlane.api, 'default', `ws-daemon-${name}`, false);
      await rig.history.until(name, WS_DAEMON_READY, undefined);
      await setPodReady(embedded.controlPlane.api, 'default', `ws-daemon-${name}`, true);
      await rig.history.until(name, WS_DAEMON_READY, 'true');
    }
    const heldMs = performance.now() - fellMs;
    expect(heldMs).toBeGreaterThan(HOLD_MS - 500);
    expect(heldMs).toBeLessThan(HOLD_MS + WORK_MS);
  });

  test('an agent that stood still for 13 s does not vouch for what it saw before', async () => {
    const node = rig.node(1);
    const stoppedMs = performance.now();
    await node.agent?.kill('SIGSTOP');
    await rig.history.until(node.name, REGISTRY_FACADE_READY, undefined);
    await node.service('registry-facade').fault('hang');
    await waitFor('it to stand still', () => performance.now() - stoppedMs > STOOD_STILL_MS);
    const fromMs = performance.now();
    await node.agent?.kill('SIGCONT');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
    expect(rig.history.since(fromMs, REGISTRY_FACADE_READY, node.name)).toEqual([]);
    await node.service('registry-facade').fault('none');
    await rig.history.until(node.name, REGISTRY_FACADE_READY, 'true');
  });

  test('a CRD that comes is found within 30 s', async () => {
    await applyNodeServiceCrd(embedded.controlPlane);
    await embedded.controlPlane.api.post(
      NODE_SERVICES,
      nodeService('late', { checks: [{ name: 'port', tcp: { port: 1 } }] }),
    );
    const isAccepted = async () => (await conditionOf(embedded.controlPlane.api, 'late', 'Ready')).startsWith('True');
    expect(await timeUntil('the NodeService to be accepted', isAccepted)).toBeLessThan(DISCOVERY_MS + WORK_MS);
  });

  test('an eviction that a budget refuses is tried again after 10 to 20 s', async () => {
    const { controlPlane, kubeconfig } = cluster;
    const namespace = 'evicting';
    await createNamespace(controlPlane.api, namespace);
    await createMisplaced(controlPlane, {
      namespace,
      name: 'guarded',
      nodeName: 'evicted',
      labels: { app: 'guarded' },
    });
    await createBudget(controlPlane, { namespace, name: 'one', app: 'guarded', allowed: 0 });
    const { evictor, answers, stop } = startReplica(kubeconfig, { stateOf: () => labelGone });
    evictor.consider('evicted');
    await waitFor('the refusal', () => answers.includes('create 429'));
    const refusedMs = performance.now();
    await allowDisruptions(controlPlane, { namespace, name: 'one', allowed: 1 });
    await waitFor('the eviction', async () => (await staying(controlPlane, 'evicted')).length === 0, {
      timeoutMs: 60_000,
    });
    expect(performance.now() - refusedMs).toBeGreaterThan(BLOCKED_MS.min - 500);
    expect(performance.now() - refusedMs).toBeLessThan(BLOCKED_MS.max + WORK_MS);
    await stop();
  });

  test('a label that another client puts back again and again is withdrawn at least every 10 s', async () => {
    const { api } = cluster.controlPlane;
    const name = 'put-back';
    await newNode(cluster, name, { ready: false });
    const client = coordinatorClient(cluster);
    const writer = startWriterRig(cluster, { client });
    await writer.sees(name, 'kubernetes.io/os', 'linux');
    writer.want(name, [label('fought', 'true', { stance: 'absent', ownership: 'exclusive' })]);
    const withdrawnMs: number[] = [];
    const stopRival = watchNodes(api, ({ object }) => {
      if (object.metadata.name !== name || object.metadata.labels?.['fought'] !== undefined) return;
      withdrawnMs.push(performance.now());
      void api.patch(`/api/v1/nodes/${name}?fieldManager=rival`, { metadata: { labels: { fought: 'true' } } });
    });
    const gaps = () => withdrawnMs.slice(1).map((atMs, index) => atMs - (withdrawnMs[index] ?? 0));
    const longest = () => gaps().filter((ms) => ms > KEEPS_AWAY_MS - 1000);
    await waitFor('two tries at the longest gap', () => longest().length >= 2, { timeoutMs: 60_000 });
    expect(Math.max(...gaps())).toBeLessThan(10_000);
    stopRival();
    await writer.stop();
  });
});

describe('in real time, when the leader', () => {
  test('is stopped, the other leads within half the lease', async () => {
    const old = await rig.leader();
    const fromMs = performance.now();
    const exiting = rig.endCoordinator(old, 'SIGTERM');
    await rig.leader();
    expect(performance.now() - fromMs).toBeLessThan(LEASE_MS / 2);
    expect(await exiting).toBe(0);
    await (await rig.addCoordinator()).ready();
  });

  test('is killed, the other leads when the lease has run out', async () => {
    const old = await rig.leader();
    const fromMs = performance.now();
    await rig.endCoordinator(old, 'SIGKILL');
    await rig.leader();
    const tookMs = performance.now() - fromMs;
    // The other one saw the last renewal up to a period of renewals before.
    expect(tookMs).toBeGreaterThan(LEASE_MS - RENEWAL_MS - 1000);
    expect(tookMs).toBeLessThan(LEASE_MS + WORK_MS);
  });
});
