import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiClient } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { sumSamples } from '../../control-plane/metrics-text.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type Host, unpackHost } from '../../fixtures/unpack.ts';
import { plugUsb, unplugUsb } from '../../fixtures/usb.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { labelAsNfd } from './nfd-master.ts';
import { installNodeFeatures, NODE_FEATURES, nodeFeature, removeNodeFeatures } from './node-features.ts';

const CPU = 'accelerators/cpu';
const NICS = 'accelerators/nics';
const SLOTS = 'accelerators/slots';
const PREFIX = 'feature.node.kubernetes.io/';
const STICK = `${PREFIX}usb-ff_abcd_0001.present`;

let embedded: EmbeddedRig;
let api: ApiClient;
let host: Host;
let node: SimulatedNode;
let dir: string;
let featureFile: string;

beforeAll(async () => {
  host = await unpackHost('coral-usb');
  dir = await mkdtemp(path.join(tmpdir(), 'rollcall-nfd-'));
  const featuresDir = path.join(dir, 'features.d');
  featureFile = path.join(featuresDir, 'vendor');
  await mkdir(path.join(dir, 'rules/accelerators'), { recursive: true });
  await mkdir(featuresDir);
  const coordinatorArgs = [`--label-dir=${path.join(dir, 'rules')}`];
  embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs, clockSpeed: 4 });
  api = embedded.controlPlane.api;
  const agentArgs = [`--features-dir=${featuresDir}`];
  node = await embedded.rig.addNode({ sysfsRoot: host.sysfsRoot, agentArgs });
  await embedded.rig.allReady();
});

afterAll(async () => {
  await embedded?.stop();
  await host?.remove();
  await rm(dir, { recursive: true });
});

const rule = (label: string, text: string) => writeFile(path.join(dir, 'rules', label), text);
const until = (key: string, value: string | undefined) => embedded.rig.history.until(node.name, key, value, 50_000);
const since = (fromMs: number, key: string) => embedded.rig.history.since(fromMs, key, node.name).map(({ to }) => to);

/** Waits until the label is held for this reason. */
async function untilHeld(label: string, reason: string): Promise<void> {
  const leader = await embedded.rig.leader();
  const isHeld = async () => {
    const { keys } = await leader.explain(node.name);
    return keys.some((entry) => entry.key === label && entry.stance === 'keep' && entry.reason === reason);
  };
  await waitFor(`${label} to be held, ${reason}`, isHeld, { timeoutMs: 50_000 });
}

const found = (vendor: string, modules: readonly string[] = ['dummy']) => ({
  flags: { 'kernel.loadedmodule': modules },
  attributes: { 'cpu.model': { vendor_id: vendor, family: '6' } },
  instances: { 'network.device': [{ speed: '100' }, { speed: '400' }] },
});
const worker = (...args: Parameters<typeof found>) => nodeFeature(node.name, found(...args));

/** Writes the NodeFeature anew, as the worker does after each look. */
async function publish(next: ReturnType<typeof worker>): Promise<void> {
  const at = `${NODE_FEATURES}/${next.metadata.name}`;
  const { metadata } = await api.get(at);
  await api.put(at, { ...next, metadata: { ...next.metadata, resourceVersion: metadata.resourceVersion } });
}

const RULE = 'nfd:cpu.model.vendor_id = Intel && nfd:kernel.loadedmodule.dummy && nfd:cpu.model.family >= 6\n';

const UNKNOWN = `line 1 of ${CPU}: no NodeFeature of the node lists cpu.model`;

test('while NFD is not installed, what rules ask of it is unknown, and labels are held', async () => {
  await rule(CPU, '!no-such-label\n');
  await until(CPU, 'true');
  await rule(CPU, RULE);
  await untilHeld(CPU, UNKNOWN);
  await installNodeFeatures(api);
  await api.post(NODE_FEATURES, nodeFeature('another-node', found('AMD')));
  await api.post(NODE_FEATURES, nodeFeature(node.name, { attributes: { 'vendor.feature': { a: '1' } } }, 'vendor'));
  await rule(NICS, 'nfd:vendor.feature.a = 1\n');
  await until(NICS, 'true');
  await untilHeld(CPU, UNKNOWN);
  expect(since(0, CPU)).toEqual(['true']);
});

test('a NodeFeature is followed as it appears and changes', async () => {
  await api.post(NODE_FEATURES, worker('AMD'));
  await until(CPU, undefined);
  await publish(worker('Intel'));
  await until(CPU, 'true');
  await publish(worker('Intel', []));
  await until(CPU, undefined);
  await publish(worker('Intel'));
  await until(CPU, 'true');
});

test('kubectl rollcall why names NFD as the source', async () => {
  const { consoleUrl } = await embedded.rig.leader();
  const { stdout } = await runPlugin(['why', `node/${node.name}`, CPU, `--console-url=${consoleUrl}`]);
  expect(stdout).toContain(
    `line 1 of ${CPU}: NFD of the node reports cpu.model.vendor_id as "Intel" and NFD of the node has kernel.loadedmodule.dummy`,
  );
});

test('other features are looked for as soon as a rule asks, and those before stay', async () => {
  const fromMs = performance.now();
  await rule(NICS, 'nfd:network.device >= 3\n');
  await api.post(NODE_FEATURES, nodeFeature(node.name, { instances: { 'network.device': [{}] } }, 'further'));
  await until(NICS, 'true');
  await api.delete(`${NODE_FEATURES}/further`);
  await until(NICS, undefined);
  expect(since(fromMs, CPU)).toEqual([]);
});

test('a NodeFeature that goes says nothing, and nothing is withdrawn, by another leader neither', async () => {
  await until(CPU, 'true');
  const fromMs = performance.now();
  await api.delete(`${NODE_FEATURES}/${node.name}`);
  await untilHeld(CPU, UNKNOWN);
  await removeNodeFeatures(api);
  await embedded.rig.endCoordinator(await embedded.rig.leader(), 'SIGTERM');
  await embedded.rig.addCoordinator();
  await embedded.rig.allReady();
  await untilHeld(CPU, UNKNOWN);
  expect(since(fromMs, CPU)).toEqual([]);
  await installNodeFeatures(api);
  await api.post(NODE_FEATURES, worker('AMD'));
  await until(CPU, undefined);
});

test('files in features.d are read by the agent, and held while they cannot be', async () => {
  await rule(SLOTS, 'nfd:local.feature.example.com/slots >= 2 => many\nnfd:local.feature.example.com/slots\n');
  await writeFile(featureFile, '# of the vendor\nexample.com/slots=1\n');
  await until(SLOTS, 'true');
  await writeFile(featureFile, 'example.com/slots=4\n');
  await until(SLOTS, 'many');
  const fromMs = performance.now();
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path.join(dir, 'features.d/fifo')]);
  await writeFile(featureFile, `example.com/slots=4\n${'#'.repeat(100_000)}`);
  await untilHeld(SLOTS, `line 1 of ${SLOTS}: no NodeFeature of the node lists local.feature`);
  expect(since(fromMs, SLOTS)).toEqual([]);
  await writeFile(featureFile, '');
  await until(SLOTS, undefined);
});

describe('beside a master of NFD that writes the same keys', () => {
  const theirs = { [`${PREFIX}cpu-model.vendor_id`]: 'AMD', [`${PREFIX}usb-ff_9999_0001.present`]: 'true' };
  const both = { ...theirs, [STICK]: 'true' };
  const plug = () => plugUsb(host, { port: '1-4', vendor: 'abcd', device: '0001', interfaces: [{ class: 'ff' }] });
  const metadata = async () => (await api.get<NodeObject>(`/api/v1/nodes/${node.name}`)).metadata;

  /** Twenty looks of the master, and how many of them wrote. */
  async function reconcile(labels: Record<string, string>): Promise<number> {
    let writes = 0;
    for (let look = 0; look < 20; look += 1) if (await labelAsNfd(api, node.name, labels)) writes += 1;
    return writes;
  }

  async function untilOwned(isOwned: boolean): Promise<void> {
    const owns = async () => {
      const { managedFields = [] } = (await metadata()) as { managedFields?: { manager: string }[] };
      return managedFields.some((entry) => entry.manager === 'rollcall' && JSON.stringify(entry).includes(STICK));
    };
    await waitFor(`rollcall ${isOwned ? '' : 'not '}to own ${STICK}`, async () => (await owns()) === isOwned);
  }

  test('neither reverts the other', async () => {
    expect(await reconcile(theirs)).toBe(1);
    const fromMs = performance.now();
    const patches = await embedded.nodePatches();
    await plug();
    await until(STICK, 'true');
    // It notes the key that is there already as its own, and takes it from the list again.
    let writes = await reconcile(both);
    await unplugUsb(host, '1-4');
    await until(STICK, undefined);
    writes += await reconcile(theirs);
    expect(writes).toBe(2);
    expect(since(fromMs, STICK)).toEqual(['true', undefined]);
    await waitFor('the writes to be counted', async () => (await embedded.nodePatches()) === patches + writes + 2);
  });

  test('nothing of NFD is removed', async () => {
    expect(await reconcile(both)).toBe(1);
    const fromMs = performance.now();
    await plug();
    await untilOwned(true);
    await unplugUsb(host, '1-4');
    await untilOwned(false);
    expect(await reconcile(both)).toBe(0);
    for (const key of Object.keys(both)) expect(since(fromMs, key)).toEqual([]);
    const { annotations } = await metadata();
    expect(annotations?.['nfd.node.kubernetes.io/feature-labels']?.split(',')).toHaveLength(3);
  });
});

test('nothing of NFD is watched after the last rule that asked for it', async () => {
  const watches = async () =>
    sumSamples(await api.text('GET', '/metrics'), 'apiserver_longrunning_requests', {
      ...{ resource: 'nodefeatures', verb: 'WATCH' },
    });
  await waitFor('NodeFeatures to be watched', async () => (await watches()) === 1);
  for (const each of [CPU, NICS, SLOTS]) await rm(path.join(dir, 'rules', each));
  await waitFor('them not to be watched', async () => (await watches()) === 0, { timeoutMs: 30_000 });
});
