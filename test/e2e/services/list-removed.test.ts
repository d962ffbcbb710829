import { KEYS_ANNOTATION, SERVICE_LABEL_PREFIX } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import { createNode, createPod, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

// The list of rollcall's keys is removed from Nodes while no coordinator runs, and NodeServices are deleted.

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];

let embedded: EmbeddedRig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`],
    nodes: 0,
  });
});
afterAll(() => embedded?.stop());

const api = () => embedded.controlPlane.api;
/** The budget of a taint is another test's. */
const ON_ALL = { maxUnavailable: '100%' };
const SELECTED = { nodeSelector: { matchLabels: { selected: 'true' } } };

async function service(name: string, publish: object): Promise<void> {
  const pods = { namespace: 'default', selector: { matchLabels: { app: name } } };
  await api().post(NODE_SERVICES, nodeService(name, { ...SELECTED, checks: [{ name: 'pod', pods }], publish }));
}

async function keysOn(name: string): Promise<string[]> {
  const { metadata, spec, status } = await api().get<NodeObject>(`/api/v1/nodes/${name}`);
  const { conditions = [] } = status as { conditions?: { type: string }[] };
  const keys = [
    ...Object.keys(metadata.labels ?? {}),
    ...(spec.taints ?? []).map(({ key }) => key),
    ...conditions.map(({ type }) => type),
  ];
  return keys.filter((key) => PREFIXES.some((prefix) => key.startsWith(prefix))).toSorted();
}

/** Stops all coordinators, calls `act`, and starts another one, which leads. */
async function whileNoneRuns(act: () => Promise<unknown>): Promise<void> {
  const { rig } = embedded;
  await Promise.all([...rig.coordinators].map((each) => rig.endCoordinator(each, 'SIGTERM')));
  await act();
  await rig.addCoordinator();
  await rig.leader();
}

const removeList = (name: string) =>
  api().patch(`/api/v1/nodes/${name}`, { metadata: { annotations: { [KEYS_ANNOTATION]: null } } });
const deleteService = (name: string) => api().delete(`${NODE_SERVICES}/${name}`);

test.each([
  { name: 'alone', others: false },
  { name: 'beside', others: true },
])('label, condition and taint of a deleted NodeService go: $name', async ({ name, others }) => {
  const taint = `${SERVICE_LABEL_PREFIX}${name}`;
  await createNode(api(), name, { labels: { selected: 'true' } });
  await createPod(api(), { namespace: 'default', name, nodeName: name, ready: true, labels: { app: `${name}-ready` } });
  await service(`${name}-ready`, { label: `example.com/${name}`, condition: `example.com/${name}-ready` });
  await service(`${name}-not`, { taint: { key: taint, effect: 'NoSchedule', ...ON_ALL } });
  const published = [`example.com/${name}`, `example.com/${name}-ready`, taint];
  await expect.poll(() => keysOn(name), { timeout: 30_000 }).toEqual(published);
  if (others)
    await service('keeps-taints', { taint: { key: `${SERVICE_LABEL_PREFIX}other`, effect: 'NoSchedule', ...ON_ALL } });
  await whileNoneRuns(async () => {
    await removeList(name);
    for (const each of ['ready', 'not']) await deleteService(`${name}-${each}`);
  });
  const left = others ? [`${SERVICE_LABEL_PREFIX}other`] : [];
  await expect.poll(() => keysOn(name), { timeout: 30_000 }).toEqual(left);
});

test('keys of NodeServices that are still there are listed again, and go with them', async () => {
  const taint = 'readiness.k8s.io/stays';
  await createNode(api(), 'stays', { labels: { selected: 'true' } });
  await service('stays', { taint: { key: taint, effect: 'NoSchedule', ...ON_ALL } });
  await waitFor('the taint', async () => (await keysOn('stays')).includes(taint));
  await whileNoneRuns(() => removeList('stays'));
  const list = async () =>
    (await api().get<NodeObject>('/api/v1/nodes/stays')).metadata.annotations?.[KEYS_ANNOTATION] ?? '';
  await expect.poll(list, { timeout: 30_000 }).toContain(taint);
  await deleteService('stays');
  await waitFor('the end of the taint', async () => !(await keysOn('stays')).includes(taint));
});

test('what others set below the same prefixes stays', async () => {
  const [label, taint] = ['example.com/theirs', 'readiness.k8s.io/theirs'];
  await createNode(api(), 'theirs', {
    labels: { selected: 'true', [label]: 'x' },
    taints: [{ key: taint, effect: 'NoSchedule' }],
  });
  await whileNoneRuns(async () => {
    for (const { metadata } of await api().list(NODE_SERVICES)) await deleteService(metadata.name);
  });
  await waitFor('the taints of services to go', async () =>
    (await Promise.all(['alone', 'beside'].map(keysOn))).every((keys) => keys.length === 0),
  );
  expect(await keysOn('theirs')).toEqual([label, taint]);
});
