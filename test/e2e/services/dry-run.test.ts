import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { ApiClient } from '../../control-plane/api-client.ts';
import { createNode, createPod, type NodeObject, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import { taintsOf } from '../incidents/monitor.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService, statusOf } from './node-services.ts';

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const KEY = 'example.com/driver';
const TAINT = { key: 'readiness.k8s.io/driver', effect: 'NoSchedule' } as const;
const CHECKS = [{ name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { app: 'driver' } } } }];
const FAILING = [{ name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { app: 'nothing' } } } }];
const PUBLISH = { label: KEY, taint: { ...TAINT, maxUnavailable: '100%' }, condition: KEY };

let embedded: EmbeddedRig;
let api: ApiClient;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: ['--agents=false', '--gitpod=false', `--services-allowed-prefixes=${PREFIXES}`],
    nodes: 0,
  });
  api = embedded.controlPlane.api;
  // What a kubelet registers with, and what a person set.
  await createNode(api, 'theirs', { labels: { [KEY]: 'true' }, taints: [TAINT] });
  await createNode(api, 'bare', {});
});

afterAll(() => embedded?.stop());

const create = (name: string, spec: object = {}) =>
  api.post(NODE_SERVICES, nodeService(name, { checks: CHECKS, publish: PUBLISH, ...spec }));
const until = (name: string, pattern: RegExp) =>
  waitFor(`${name} to be ${pattern}`, async () => pattern.test(await conditionOf(api, name, 'Ready')) || undefined);
const untilReady = (name: string, ready: string) =>
  waitFor(`${name} to be ready on ${ready}`, async () => {
    const { nodes } = await statusOf(api, name);
    return `${nodes?.ready}/${nodes?.selected}` === ready || undefined;
  });
const keysOf = async (node: string) => {
  type Node = {
    metadata: { name: string; labels?: Record<string, string> };
    status: { conditions?: { type: string }[] };
  };
  const { metadata, status } = await api.get<Node>(`/api/v1/nodes/${node}`);
  return {
    label: metadata.labels?.[KEY],
    taints: (await taintsOf(api, node)).filter((taint) => taint.startsWith(TAINT.key)),
    condition: status.conditions?.some(({ type }) => type === KEY),
  };
};
const THEIRS = { label: 'true', taints: [`${TAINT.key}:NoSchedule`], condition: false };
const NOTHING = { label: undefined, taints: [], condition: false };

test('a dry run is judged and shown everywhere, and writes nothing to any node, whatever becomes of the service', async () => {
  const before = await embedded.nodePatches();
  await create('dry', { dryRun: true });
  await until('dry', /^True DryRun: /);
  await untilReady('dry', '0/2');
  for (const [name, nodeName] of [
    ['driver', 'theirs'],
    ['driver-2', 'bare'],
  ] as const)
    await createPod(api, { namespace: 'default', name, nodeName, labels: { app: 'driver' }, ready: true });
  await untilReady('dry', '2/2');
  await setPodReady(api, 'default', 'driver', false);
  await untilReady('dry', '1/2');

  const leader = await embedded.rig.leader();
  const { body } = await leader.get('/metrics');
  expect(body).toContain('rollcall_coordinator_service_nodes{service="dry",state="not-ready",dry_run="true"} 1');
  const { services } = await leader.explain('theirs');
  expect(services).toMatchObject([{ name: 'dry', dryRun: true, state: 'not-ready' }]);
  const url = `--console-url=${leader.consoleUrl}`;
  expect((await runPlugin(['why', 'node/theirs', url])).stdout).toMatch(/dry \(dry run: nothing is written\)/);
  const status = await runPlugin(['status', url]);
  expect(status.stdout).toMatch(/dry \(dry run\) +2 +1 +1/);
  // What is not ready in a dry run is no reason to wait.
  expect(status.exitCode).toBe(0);

  await api.delete(`${NODE_SERVICES}/dry`);
  await waitFor(
    'the dry run to be gone',
    async () => (await leader.explain('theirs')).services.length === 0 || undefined,
  );
  expect([await keysOf('theirs'), await keysOf('bare')]).toEqual([THEIRS, NOTHING]);
  expect(await embedded.nodePatches()).toBe(before);
});

test('a dry run takes no key from a younger service, and may be of keys that an older one has', async () => {
  await create('dry-older', { dryRun: true });
  await until('dry-older', /^True DryRun/);
  await create('real');
  await until('real', /^True InForce/);
  await create('dry-younger', { dryRun: true });
  await until('dry-younger', /^True DryRun/);
  await setPodReady(api, 'default', 'driver', true);
  await untilReady('real', '2/2');
  await waitFor('the label', async () => (await keysOf('bare')).label);
  for (const name of ['dry-older', 'dry-younger']) await api.delete(`${NODE_SERVICES}/${name}`);
  await untilReady('real', '2/2');
  expect(await keysOf('bare')).toEqual({ label: 'true', taints: [], condition: true });
});

test('what a service published goes when it becomes a dry run, and deleting it then removes nothing of others', async () => {
  await api.patch(`${NODE_SERVICES}/real`, { spec: { dryRun: true } });
  await until('real', /^True DryRun/);
  await waitFor('its keys to go', async () => (await keysOf('bare')).label === undefined || undefined);
  await waitFor('its condition to go', async () => !(await keysOf('bare')).condition || undefined);
  await untilReady('real', '2/2');
  // Now it is a person's.
  await api.patch('/api/v1/nodes/bare', { metadata: { labels: { [KEY]: 'true' } } });
  await api.delete(`${NODE_SERVICES}/real`);
  const started = async () =>
    (await api.get('/api/v1/nodes/bare')).metadata.annotations?.['rollcall.dev/services-started'];
  await waitFor('the last trace of it to be gone', async () => (await started()) === undefined || undefined);
  expect(await keysOf('bare')).toEqual({ ...NOTHING, label: 'true' });
});

test('nodes that are older than the end of a dry run count in the budget of its taint, under every leader', async () => {
  const { rig } = embedded;
  const batch = { batch: 'late' };
  const taint = { key: 'readiness.k8s.io/late', effect: 'NoSchedule', maxUnavailable: 1 };
  const tainted = async () => {
    const nodes = await api.list<NodeObject>('/api/v1/nodes');
    return nodes
      .filter(({ spec }) => spec.taints?.some(({ key }) => key === taint.key))
      .map((each) => each.metadata.name);
  };
  const stays = async (count: number) => {
    await waitFor(`${count} nodes with the taint`, async () => (await tainted()).length === count || undefined);
    await pause(2000);
    expect(await tainted()).toHaveLength(count);
  };
  const setDryRun = (dryRun: true | null) => api.patch(`${NODE_SERVICES}/late`, { spec: { dryRun } });
  const endLeader = async () => rig.endCoordinator(await rig.leader(), 'SIGTERM');
  const startLeader = async () => {
    await rig.addCoordinator();
    await rig.leader();
  };
  await create('late', { dryRun: true, nodeSelector: { matchLabels: batch }, checks: FAILING, publish: { taint } });
  await until('late', /^True DryRun/);
  // Creation times have seconds.
  await pause(1100);
  for (const name of ['late-1', 'late-2', 'late-3']) await createNode(api, name, { labels: batch });
  await untilReady('late', '0/3');

  await setDryRun(null);
  await stays(1);
  await pause(1100);
  await createNode(api, 'late-4', { labels: batch });
  await stays(2);
  expect(await tainted()).toContain('late-4');
  await endLeader();
  await startLeader();
  await stays(2);

  // No leader sees the next one end, nor the node that comes after it.
  await setDryRun(true);
  await until('late', /^True DryRun/);
  await stays(0);
  await endLeader();
  await setDryRun(null);
  await pause(1100);
  await createNode(api, 'late-5', { labels: batch });
  await startLeader();
  await stays(1);
  await until('late', /^True InForce/);
});
