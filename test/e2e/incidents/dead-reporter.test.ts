// While no pod of its author is Ready on a node, a condition counts for nothing there, whatever it says: after the
// silence window the service is not ready and its own condition is `Unknown`, no pod is evicted, and nothing changes
// while most authors are away.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import { createPod, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { ConditionHistory } from '../services/condition-history.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from '../services/node-services.ts';
import { reportCondition, taintsOf } from './monitor.ts';

const STALE_AFTER_SECONDS = 6;
const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const NAMESPACE = 'default';
const SELECTOR = { matchLabels: { app: 'monitor' } };
/** Written by the monitor: True is bad, as with node-problem-detector. */
const DEADLOCK = 'KernelDeadlock';
const LABEL = 'example.com/kernel';
const HEALTHY = 'example.com/KernelHealthy';
const TAINT = 'example.com/kernel-broken:NoExecute';

const CONDITION = { type: DEADLOCK, status: 'False', reporter: { namespace: NAMESPACE, selector: SELECTOR } };

let embedded: EmbeddedRig;
let history: ConditionHistory;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES, allowNoExecute: 'true' },
    coordinatorArgs: [
      `--services-allowed-prefixes=${PREFIXES}`,
      '--gitpod=false',
      '--allow-no-execute',
      `--stale-after-seconds=${STALE_AFTER_SECONDS}`,
    ],
    nodes: 4,
  });
  history = new ConditionHistory(embedded.controlPlane.api);
  for (const { name } of embedded.rig.nodes) {
    await report(name, 'False');
    await createPod(embedded.controlPlane.api, {
      namespace: NAMESPACE,
      name: podOn(name),
      nodeName: name,
      labels: SELECTOR.matchLabels,
      ready: true,
    });
  }
  await embedded.controlPlane.api.post(
    NODE_SERVICES,
    nodeService('kernel', {
      checks: [
        {
          name: 'deadlock',
          condition: CONDITION,
        },
      ],
      publish: { label: LABEL, condition: HEALTHY, taint: { key: TAINT.split(':')[0], effect: 'NoExecute' } },
    }),
  );
  await Promise.all(embedded.rig.nodes.map(({ name }) => history.until(name, HEALTHY, 'True')));
});

afterAll(async () => {
  history?.stop();
  await embedded?.stop();
});

const podOn = (node: string) => `monitor-${node}`;
const nodeName = (index: number) => embedded.rig.node(index).name;

function report(node: string, status: 'True' | 'False'): Promise<unknown> {
  return reportCondition(embedded.controlPlane.api, node, {
    type: DEADLOCK,
    status,
    reason: 'Seen',
    message: 'task hung',
  });
}

const setReporter = (node: string, ready: boolean) =>
  setPodReady(embedded.controlPlane.api, NAMESPACE, podOn(node), ready);

const isTainted = async (node: string) => (await taintsOf(embedded.controlPlane.api, node)).includes(TAINT);

test('a reporter that is alive is believed at once, with whose word it is', async () => {
  const node = nodeName(0);
  await report(node, 'True');
  await history.until(node, HEALTHY, 'False');
  expect(history.of(node, HEALTHY)?.message).toMatch(
    /the condition KernelDeadlock is True since .*, written by monitor \(Seen: task hung\)/,
  );
  await embedded.rig.history.until(node, LABEL, undefined);
  await waitFor('the taint', () => isTainted(node));
  await report(node, 'False');
  await history.until(node, HEALTHY, 'True');
  await waitFor('no taint', async () => !(await isTainted(node)));
});

test('a condition whose reporter has died counts for nothing, although its heartbeats go on', async () => {
  const node = nodeName(1);
  const diedMs = performance.now();
  await setReporter(node, false);
  const beats = setInterval(() => void report(node, 'False').catch(() => {}), 500);
  try {
    await history.until(node, HEALTHY, 'Unknown');
  } finally {
    clearInterval(beats);
  }
  expect(performance.now() - diedMs).toBeGreaterThan(STALE_AFTER_SECONDS * 1000 - 1000);
  expect(history.of(node, HEALTHY)?.message).toContain('nothing vouches for the condition KernelDeadlock');
  await embedded.rig.history.until(node, LABEL, undefined);
  expect(await isTainted(node)).toBe(false);
  await setReporter(node, true);
  await history.until(node, HEALTHY, 'True');
});

test('what a dead reporter said last, good or bad, evicts no pod', async () => {
  const node = nodeName(2);
  await setReporter(node, false);
  await report(node, 'True');
  await history.until(node, HEALTHY, 'Unknown');
  expect(await isTainted(node)).toBe(false);
  await report(node, 'False');
  await setReporter(node, true);
  await history.until(node, HEALTHY, 'True');
});

test('where most reporters die at once, nothing is held against the nodes', async () => {
  const beganMs = performance.now();
  await Promise.all([0, 1, 2].map((index) => setReporter(nodeName(index), false)));
  const leader = await embedded.rig.leader();
  await waitFor('the guard', async () => (await leader.explain(nodeName(0))).replica.guards.length > 0, {
    timeoutMs: 30_000,
  });
  const leftMs = STALE_AFTER_SECONDS * 2000 - (performance.now() - beganMs);
  await new Promise((resolve) => setTimeout(resolve, leftMs));
  expectAllReady();
  expect(await conditionOf(embedded.controlPlane.api, 'kernel', 'Ready')).toMatch(/^True/);
});

function expectAllReady(): void {
  const shown = [0, 1, 2, 3].map((index) => [
    history.of(nodeName(index), HEALTHY)?.status,
    embedded.rig.history.labels(nodeName(index))[LABEL],
  ]);
  expect(shown).toEqual(Array(4).fill(['True', 'true']));
}

test.each([
  ['another replica leads', handOver],
  ['the check is renamed', () => edit({ name: 'renamed' })],
  ['the check is edited', () => edit({ for: '1s' })],
] as const)('the guard goes on when %s', async (_what, act) => {
  await act();
  await new Promise((resolve) => setTimeout(resolve, STALE_AFTER_SECONDS * 2500));
  expectAllReady();
  const { guards } = (await (await embedded.rig.leader()).explain(nodeName(0))).replica;
  expect(guards).toHaveLength(1);
});

async function handOver(): Promise<void> {
  const { rig } = embedded;
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await rig.addCoordinator();
  await rig.leader();
}

/** Writes the check anew, with another name or another condition. */
async function edit({ name = 'deadlock', ...change }: { name?: string; for?: string }): Promise<void> {
  const checks = [{ name, condition: { ...CONDITION, ...change } }];
  await embedded.controlPlane.api.patch(
    `${NODE_SERVICES}/kernel`,
    { spec: { checks } },
    'application/merge-patch+json',
  );
}
