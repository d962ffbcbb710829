// A monitor that runs is believed on every node that it flags: their conditions say so until it takes its finding back;
// the taint closes a fifth of them, and at least one. A second source in `anyOf`, or `mode: Startup`, keeps a node ready
// meanwhile.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { ApiClient } from '../../control-plane/api-client.ts';
import { createNode, createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { ConditionHistory } from '../services/condition-history.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from '../services/node-services.ts';
import { reportCondition, taintsOf } from './monitor.ts';

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const NODES = ['gpu-1', 'gpu-2', 'gpu-3', 'gpu-4'];
/** Three of four: in the incident 214 of 288. */
const FLAGGED = NODES.slice(0, 3);
const LINKS = 'GpuNvlinkWatch';
const HEALTHY = 'example.com/LinksHealthy';
const TAINT = 'readiness.k8s.io/links:NoSchedule';
/** Publish only their default labels, which no alarm removes. */
const UNMOVED = ['service.rollcall.dev/links-or-gpus', 'service.rollcall.dev/links-at-start'];
const HOLD_MS = 3000;

let embedded: EmbeddedRig;
let api: ApiClient;
let history: ConditionHistory;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`, '--gitpod=false'],
    nodes: 0,
  });
  api = embedded.controlPlane.api;
  history = new ConditionHistory(api);
  for (const name of NODES) {
    await createNode(api, name);
    const gpus = { 'nvidia.com/gpu': '4' };
    await api.patch(`/api/v1/nodes/${name}/status`, { status: { capacity: gpus, allocatable: gpus } });
    await report(name, 'False');
    const labels = { app: 'monitor' };
    await createPod(api, { namespace: 'default', name: `monitor-${name}`, nodeName: name, labels, ready: true });
  }
  const reporter = { namespace: 'default', selector: { matchLabels: { app: 'monitor' } } };
  const links = (more = {}) => ({ name: 'links', condition: { type: LINKS, status: 'False', reporter, ...more } });
  const gpus = { name: 'gpus', resource: { name: 'nvidia.com/gpu', min: 4 } };
  const publish = { condition: HEALTHY, taint: { key: TAINT.split(':')[0], effect: 'NoSchedule' } };
  for (const [name, spec] of [
    ['links', { checks: [links()], publish }],
    ['links-held', { checks: [links({ for: `${HOLD_MS}ms` })] }],
    ['links-or-gpus', { checks: [{ name: 'usable', anyOf: [links(), gpus] }] }],
    ['links-at-start', { checks: [links()], mode: 'Startup' }],
  ] as const)
    await api.post(NODE_SERVICES, nodeService(name, spec));
  await Promise.all(NODES.map((name) => history.until(name, HEALTHY, 'True')));
  for (const name of NODES)
    for (const label of [...UNMOVED, 'service.rollcall.dev/links-held'])
      await embedded.rig.history.until(name, label, 'true', 30_000);
});

afterAll(async () => {
  history?.stop();
  await embedded?.stop();
});

const report = (node: string, status: 'True' | 'False') =>
  reportCondition(api, node, { type: LINKS, status, reason: 'DCGM_FR_NVLINK_DOWN', message: 'link 16 is down' });

const isTainted = async (node: string) => (await taintsOf(api, node)).includes(TAINT);

test('a monitor that runs is believed on every node that it flags, and on each until it takes its finding back', async () => {
  const fromMs = performance.now();
  await Promise.all(FLAGGED.map((name) => report(name, 'True')));
  for (const name of FLAGGED) {
    await history.until(name, HEALTHY, 'False');
    expect(history.of(name, HEALTHY)?.message).toContain('written by monitor (DCGM_FR_NVLINK_DOWN: link 16 is down)');
  }
  // Labels and conditions say what the monitor says; its taint closes one node of four.
  const tainted = async () => (await Promise.all(NODES.map(isTainted))).filter(Boolean).length;
  await waitFor('a taint', async () => (await tainted()) === 1);
  const { replica } = await (await embedded.rig.leader()).explain('gpu-1');
  expect(replica.guards.filter(({ subject }) => subject !== 'taint-budget')).toEqual([]);
  expect(await tainted()).toBe(1);
  const summary = () => conditionOf(api, 'links', 'NodesReady');
  await waitFor('the status', async () => (await summary()).includes('1 of 4'));
  expect(await summary()).toMatch(/^False NodesNotReady: /);
  expect(history.since(fromMs, HEALTHY, 'gpu-4')).toEqual([]);

  const endMs = Date.now();
  await Promise.all(FLAGGED.map((name) => report(name, 'False')));
  for (const name of FLAGGED) {
    await history.until(name, HEALTHY, 'True');
    await waitFor(`${name} without a taint`, async () => !(await isTainted(name)));
  }
  // The time of a transition has whole seconds.
  for (const name of FLAGGED) await embedded.rig.history.until(name, 'service.rollcall.dev/links-held', 'true', 20_000);
  expect(Date.now() - endMs).toBeGreaterThan(HOLD_MS - 1000);

  // A second source, or a look at the start alone, keeps the label through the alarm.
  for (const label of UNMOVED) expect(embedded.rig.history.since(fromMs, label)).toEqual([]);
});

test('a flagged node that has lost a GPU as well is not ready by the second source either', async () => {
  await report('gpu-1', 'True');
  const lost = { 'nvidia.com/gpu': '3' };
  await api.patch('/api/v1/nodes/gpu-1/status', { status: { capacity: lost, allocatable: lost } });
  await embedded.rig.history.until('gpu-1', 'service.rollcall.dev/links-or-gpus', undefined, 20_000);
  expect(embedded.rig.history.labels('gpu-1')['service.rollcall.dev/links-at-start']).toBe('true');
});
