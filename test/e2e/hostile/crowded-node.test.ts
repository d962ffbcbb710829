import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { processUsage } from '../../scale/process-usage.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from '../services/node-services.ts';

/** More pods than a kubelet runs: who may create pods can name a node for them. */
const PODS = 4000;
const SERVICES = 60;
const CHANGES_A_SECOND = 50;
const SECONDS = 12;
const BURST = 200;
const HEALTH_MS_MAX = 500;
/** Of a change, whatever else the machine does: a third of the chart's two cores for all of a second. */
const CPU_MS_MAX = 15;
const WRITERS = 16;

let embedded: EmbeddedRig;

const podName = (index: number) => `crowd-${index}`;
const podPath = (index: number) => `/api/v1/namespaces/default/pods/${podName(index)}`;
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
type Lease = { metadata: { name: string }; spec: { holderIdentity?: string; leaseTransitions?: number } };

async function inParallel(count: number, act: (index: number) => Promise<unknown>): Promise<void> {
  const all = Array.from({ length: count }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      for (const index of all) await act(index);
    }),
  );
}

beforeAll(async () => {
  embedded = await startEmbeddedRig({ prepare: applyNodeServiceCrd, nodes: 0 });
  const { api } = embedded.controlPlane;
  await createNode(api, 'crowded');
  await inParallel(PODS, (index) =>
    createPod(api, { namespace: 'default', name: podName(index), nodeName: 'crowded', labels: { app: 'crowd' } }),
  );
  await inParallel(SERVICES, (index) => {
    // Each selects all pods, by another selector.
    const selector = {
      matchLabels: { app: 'crowd' },
      matchExpressions: [{ key: `not-${index}`, operator: 'DoesNotExist' }],
    };
    const checks = [{ name: 'pod', pods: { namespace: 'default', selector } }];
    return api.post(NODE_SERVICES, nodeService(`crowd-${index}`, { checks }));
  });
  await waitFor(
    'the services to be in force',
    async () => (await conditionOf(api, `crowd-${SERVICES - 1}`, 'Ready')).startsWith('True'),
    { timeoutMs: 60_000 },
  );
}, 240_000);
afterAll(() => embedded?.stop());

test('4,000 pods on one node that 60 services select, with bursts of 200 changes of labels, 50 a second, leave /healthz fast and the Lease held', {
  timeout: 60_000,
}, async () => {
  const { rig, controlPlane } = embedded;
  const { api } = controlPlane;
  const leases = async () =>
    (await api.list<Lease>(LEASE)).map(({ metadata, spec }) => [
      metadata.name,
      spec.holderIdentity,
      spec.leaseTransitions,
    ]);
  const coordinator = await rig.leader();
  const before = await leases();
  const cpuBefore = await processUsage(coordinator.pid);
  const untilMs = performance.now() + SECONDS * 1000;
  let changes = 0;
  const failures: unknown[] = [];
  const changing = (async () => {
    const running = new Set<Promise<unknown>>();
    for (let index = 0; performance.now() < untilMs; index += 1) {
      const body = { metadata: { labels: { turn: `${index}`, [`not-${index % SERVICES}`]: index % 2 ? 'x' : null } } };
      const change = api
        .patch(podPath(index % PODS), body, 'application/merge-patch+json')
        .catch((error: unknown) => failures.push(error))
        .finally(() => running.delete(change));
      running.add(change);
      changes += 1;
      // As a Deployment's rollout does: many in one moment, and then none.
      if (changes % BURST === 0) await sleep((1000 * BURST) / CHANGES_A_SECOND);
    }
    await Promise.all(running);
  })();
  let slowestMs = 0;
  while (performance.now() < untilMs) {
    const askedMs = performance.now();
    expect((await coordinator.get('/healthz')).status).toBe(200);
    slowestMs = Math.max(slowestMs, performance.now() - askedMs);
    await sleep(25);
  }
  await changing;
  const { cpuMs } = await processUsage(coordinator.pid);
  expect(failures).toEqual([]);
  expect(changes).toBeGreaterThan((CHANGES_A_SECOND * SECONDS) / 2);
  expect((cpuMs - cpuBefore.cpuMs) / changes).toBeLessThan(CPU_MS_MAX);
  expect(slowestMs).toBeLessThan(HEALTH_MS_MAX);
  expect(await leases()).toEqual(before);
  expect(await coordinator.leads()).toBe(true);
});
