// A restart of coordinators, of agents or of NFD, and a NodeFeature that is missing, remove no label; a label of NFD
// that its master removes is back at once where an agent sees the device as well, and a rule that names such a label,
// instead of the feature with `nfd:`, follows it.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiClient } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type Host, unpackHost } from '../../fixtures/unpack.ts';
import { plugUsb } from '../../fixtures/usb.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { labelAsNfd } from '../hardware/nfd-master.ts';
import { installNodeFeatures, NODE_FEATURES, nodeFeature, removeNodeFeatures } from '../hardware/node-features.ts';

const STICK = 'feature.node.kubernetes.io/usb-ff_abcd_0001.present';
const CPU = 'feature.node.kubernetes.io/cpu-model.vendor_id';
/** Labels of rules: from a feature in the NodeFeature, from a label of NFD, from a label that rollcall sets as well. */
const BY_FEATURE = 'accelerators/by-feature';
const BY_LABEL = 'accelerators/by-label';
const BY_DEVICE = 'accelerators/by-device';
const OURS = [STICK, BY_FEATURE, BY_DEVICE];

let embedded: EmbeddedRig;
let api: ApiClient;
let host: Host;
let node: SimulatedNode;
let dir: string;

beforeAll(async () => {
  host = await unpackHost('coral-usb');
  await plugUsb(host, { port: '1-4', vendor: 'abcd', device: '0001', interfaces: [{ class: 'ff' }] });
  dir = await mkdtemp(path.join(tmpdir(), 'rollcall-lost-labels-'));
  await mkdir(path.join(dir, 'accelerators'));
  await writeFile(path.join(dir, BY_FEATURE), 'nfd:cpu.model.vendor_id = Intel\n');
  await writeFile(path.join(dir, BY_LABEL), `${CPU}=Intel\n`);
  await writeFile(path.join(dir, BY_DEVICE), `${STICK}\n`);
  embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs: [`--label-dir=${dir}`] });
  api = embedded.controlPlane.api;
  await installNodeFeatures(api);
  node = await embedded.rig.addNode({ sysfsRoot: host.sysfsRoot });
  await api.post(NODE_FEATURES, nodeFeature(node.name, { attributes: { 'cpu.model': { vendor_id: 'Intel' } } }));
  await labelAsNfd(api, node.name, { [CPU]: 'Intel', [STICK]: 'true' });
  for (const key of [...OURS, BY_LABEL]) await embedded.rig.history.until(node.name, key, 'true', 60_000);
  await embedded.rig.allReady();
});

afterAll(async () => {
  await embedded?.stop();
  await host?.remove();
  await rm(dir, { recursive: true });
});

const changesOf = (keys: readonly string[], fromMs: number) =>
  keys.flatMap((key) => embedded.rig.history.since(fromMs, key, node.name).map(({ to }) => `${key}=${to}`));

async function untilHeld(key: string): Promise<void> {
  const leader = await embedded.rig.leader();
  const isHeld = async () =>
    (await leader.explain(node.name)).keys.some((entry) => entry.key === key && entry.stance === 'keep');
  await waitFor(`${key} to be held`, isHeld, { timeoutMs: 60_000 });
}

test('a coordinator that starts with an API server that lists nothing of NFD removes no label', async () => {
  const { rig } = embedded;
  const fromMs = performance.now();
  await rig.endCoordinator(await rig.leader(), 'SIGKILL');
  await removeNodeFeatures(api);
  await rig.addCoordinator();
  await untilHeld(BY_FEATURE);
  await rig.allReady();
  expect(changesOf([...OURS, BY_LABEL], fromMs)).toEqual([]);
  await installNodeFeatures(api);
  await api.post(NODE_FEATURES, nodeFeature(node.name, { attributes: { 'cpu.model': { vendor_id: 'Intel' } } }));
});

test('the pods of the agent and of NFD’s worker are replaced, the NodeFeature goes with them, and no label is removed', async () => {
  const fromMs = performance.now();
  await node.agent?.kill('SIGKILL');
  await api.delete(`${NODE_FEATURES}/${node.name}`);
  await untilHeld(BY_FEATURE);
  await node.replaceAgent();
  await waitFor('the new agent to be heard', async () => {
    const { agent } = await (await embedded.rig.leader()).explain(node.name);
    return agent.state === 'fresh';
  });
  expect(changesOf([...OURS, BY_LABEL], fromMs)).toEqual([]);
});

test('the master of NFD removes its labels as it starts: what rollcall sees itself is back at once', async () => {
  const { history } = embedded.rig;
  const fromMs = performance.now();
  await labelAsNfd(api, node.name, {});
  await history.until(node.name, BY_LABEL, undefined);
  await waitFor('the label to be back', () => history.since(fromMs, STICK, node.name).at(-1)?.to === 'true');
  expect(changesOf([STICK], fromMs)).toEqual([`${STICK}=undefined`, `${STICK}=true`]);
  expect(changesOf([BY_FEATURE, BY_DEVICE], fromMs)).toEqual([]);
});
