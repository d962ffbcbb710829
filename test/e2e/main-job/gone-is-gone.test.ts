import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { type FenceSettings, installFence } from '../../rig/fence.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

const NOTE = 'rollcall.dev/keys';
const CACHE_TAINT = 'example.com/cache-not-ready';
const GITPOD_TAINTS = ['gitpod.io/registry-facade-not-ready', 'gitpod.io/ws-daemon-not-ready'];
const FOREIGN = { key: 'example.com/dedicated', value: 'db', effect: 'NoSchedule' } as const;
const GATE = { key: STARTUP_TAINT, effect: 'NoSchedule' } as const;
const CACHE = nodeService('cache', {
  nodeSelector: { matchLabels: { 'gitpod.io/workload_workspace_regular': 'true' } },
  checks: [{ name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { component: 'cache' } } } }],
  publish: { label: 'example.com/cache-ready', taint: { key: CACHE_TAINT, value: 'true', effect: 'NoSchedule' } },
});
const GATED = '--startup-gate-requires=example.com/never';

let embedded: EmbeddedRig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs: ['--stale-after-seconds=5'] });
  await applyNodeServiceCrd(embedded.controlPlane);
  const labels = { 'gitpod.io/workload_workspace_regular': 'true' };
  await createNode(embedded.controlPlane.api, 'broken', { labels, taints: [FOREIGN] });
  await createNode(embedded.controlPlane.api, 'untainted');
});

afterAll(async () => {
  await embedded?.stop();
});

async function stopAll(): Promise<void> {
  const { rig } = embedded;
  for (const each of [...rig.coordinators]) await rig.endCoordinator(each, 'SIGTERM');
}

/** All coordinators stop, and then another starts. */
async function restart(...args: string[]): Promise<void> {
  const { rig } = embedded;
  await stopAll();
  await rig.addCoordinator(args);
  await rig.leader();
}

function read(name: string): Promise<NodeObject> {
  return embedded.controlPlane.api.get<NodeObject>(`/api/v1/nodes/${name}`);
}

async function taintsOf(name: string): Promise<string[]> {
  return ((await read(name)).spec.taints ?? []).map(({ key }) => key).sort();
}

async function untilTaints(name: string, ...wanted: string[]): Promise<void> {
  const isSo = async () => JSON.stringify(await taintsOf(name)) === JSON.stringify([...wanted].sort());
  await waitFor(`${name} to have the taints ${wanted}`, isSo, { timeoutMs: 30_000 });
}

/** The taints that a Node lists; `undefined` where it has no list. */
async function notedOn(name: string): Promise<string[] | undefined> {
  const text = (await read(name)).metadata.annotations?.[NOTE];
  const ids = text && Object.keys(JSON.parse(text) as object);
  return ids ? ids.filter((id) => id.startsWith('taint:')).map((id) => id.slice('taint:'.length)) : undefined;
}

/** The fence allows what the chart was told, before an upgrade and after it. */
async function fenceIn(settings: FenceSettings): Promise<void> {
  const { controlPlane, rig } = embedded;
  await installFence(controlPlane, settings);
  const knowsCache = settings.servicePrefixes?.includes('example.com/') ?? false;
  const spec = { taints: [{ ...FOREIGN, key: CACHE_TAINT, value: 'true' }] };
  const annotations = { [NOTE]: JSON.stringify({ [`taint:${CACHE_TAINT}`]: 'service:u' }) };
  const body = JSON.stringify({ metadata: { annotations }, spec });
  const as = ['--field-manager=rollcall', '--dry-run=server'];
  const patch = ['patch', 'node', 'untainted', '--type=merge', `--patch=${body}`, ...as];
  // The API server learns of a changed policy a moment later.
  await waitFor('the fence to be in force', async () => {
    const asCoordinator = [...patch, `--kubeconfig=${rig.cluster.coordinatorKubeconfig}`];
    const isAdmitted = await controlPlane.kubectl(asCoordinator).then(
      () => true,
      () => false,
    );
    return isAdmitted === knowsCache;
  });
}

/** The node has a taint because of a service that went while no coordinator ran. */
async function taintForCache(): Promise<void> {
  const { api } = embedded.controlPlane;
  await fenceIn({ servicePrefixes: ['example.com/'] });
  await api.post(NODE_SERVICES, CACHE);
  await restart('--readiness-gate=taint');
  await untilTaints('broken', FOREIGN.key, CACHE_TAINT, ...GITPOD_TAINTS);
  expect(await notedOn('broken')).toEqual([CACHE_TAINT, ...GITPOD_TAINTS].sort());
  await stopAll();
  await api.delete(`${NODE_SERVICES}/cache`);
  await fenceIn({});
}

describe('the taint of a service that was deleted while no coordinator ran', () => {
  test('goes with the same gate, and no other does', async () => {
    await taintForCache();
    await restart('--readiness-gate=taint');
    await untilTaints('broken', FOREIGN.key, ...GITPOD_TAINTS);
    expect(await notedOn('broken')).toEqual([...GITPOD_TAINTS].sort());
  });

  test('goes where taints are not watched', async () => {
    await taintForCache();
    await restart('--readiness-gate=label');
    await untilTaints('broken', FOREIGN.key);
  });

  test('goes with pruning', async () => {
    await taintForCache();
    await embedded.rig.prune();
    expect(await taintsOf('broken')).toEqual([FOREIGN.key]);
    expect(await notedOn('broken')).toBeUndefined();
    expect((await read('broken')).metadata.labels).not.toHaveProperty('example.com/cache-ready');
  });
});

describe('a node that waits behind the startup gate when the gate is switched off', () => {
  test.each(['taint', 'label'])('is let in, with the readiness gate %s', async (gate) => {
    const name = `waits-${gate}`;
    await restart(GATED);
    await createNode(embedded.controlPlane.api, name, { taints: [FOREIGN, GATE] });
    const leader = await embedded.rig.leader();
    await waitFor('the coordinator to see that it waits', async () => {
      const { keys } = await leader.explain(name);
      return keys.some(({ key, reason }) => key === STARTUP_TAINT && reason.startsWith('waits for'));
    });
    await restart(`--readiness-gate=${gate}`);
    await untilTaints(name, FOREIGN.key);
  });

  test('is let in also when it comes later', async () => {
    await restart();
    await createNode(embedded.controlPlane.api, 'early', { taints: [FOREIGN, GATE] });
    await untilTaints('early', FOREIGN.key);
    await createNode(embedded.controlPlane.api, 'late', { taints: [FOREIGN, GATE] });
    await untilTaints('late', FOREIGN.key);
  });
});
