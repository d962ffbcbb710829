import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { bindPci, dropPci } from '../../fixtures/pci.ts';
import { type Host, unpackHost } from '../../fixtures/unpack.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

const SLOTS = ['1b', '43', '52', '61', '9d', 'c3', 'd1', 'df'].map((bus) => `0000:${bus}:00.0`);
/** The one that has no driver at first. */
const IDLE = '0000:c3:00.0';
const GPU = 'device.rollcall.dev/nvidia-gpu';
const COUNT = `${GPU}.count`;
const DRIVER = `${GPU}.driver`;
const TRAINING = 'accelerators/training';
const MODULE = 'accelerators/module';
const OFFERED = 'accelerators/offered';
const SERVICE = 'service.rollcall.dev/gpu-node';
const SLICES = '/apis/resource.k8s.io/v1/resourceslices';

const RULES = {
  training: 'count:nvidia-gpu >= 8 && driver:nvidia-gpu = nvidia => large\nbroken &&\n',
  module: 'module:nvidia && !module:nouveau && fact:kernel >= 3\n',
};

let embedded: EmbeddedRig;
let host: Host;
let node: SimulatedNode;
let rules: string;

beforeAll(async () => {
  host = await unpackHost('dgx');
  rules = await mkdtemp(path.join(tmpdir(), 'rollcall-label-dir-'));
  await mkdir(path.join(rules, 'accelerators'));
  for (const [name, content] of Object.entries(RULES)) await writeFile(path.join(rules, 'accelerators', name), content);
  embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs: [`--label-dir=${rules}`], clockSpeed: 4 });
  await applyNodeServiceCrd(embedded.controlPlane);
  const device = { name: 'nvidia-gpu', minCount: 8, driver: 'nvidia' };
  await embedded.controlPlane.api.post(NODE_SERVICES, nodeService('gpu-node', { checks: [{ name: 'gpus', device }] }));
  node = await embedded.rig.addNode({ sysfsRoot: host.sysfsRoot });
  await embedded.rig.allReady();
});

afterAll(async () => {
  await embedded?.stop();
  await host?.remove();
  await rm(rules, { recursive: true });
});

const until = (key: string, value: string | undefined, timeoutMs = 30_000) =>
  embedded.rig.history.until(node.name, key, value, timeoutMs);
const since = (fromMs: number, key: string) => embedded.rig.history.since(fromMs, key, node.name).map(({ to }) => to);

type Explained = { services: { name: string; state: string; reason: string }[] };

async function reasonOfService(): Promise<string> {
  const leader = await embedded.rig.leader();
  const shown = await leader.console<Explained>(`/v1/nodes/${node.name}`);
  return shown?.services.find(({ name }) => name === 'gpu-node')?.reason ?? '';
}

async function allUsable(): Promise<void> {
  await until(COUNT, '8');
  await until(DRIVER, 'nvidia');
  await until(TRAINING, 'large');
  await until(SERVICE, 'true');
}

test('eight GPUs of which one has no driver are eight that are not usable, until it has one', async () => {
  await until(GPU, 'true');
  await until(COUNT, '8');
  await until(DRIVER, 'mixed');
  await until(MODULE, 'true');
  expect(embedded.rig.history.labels(node.name)).not.toHaveProperty([TRAINING]);
  expect(embedded.rig.history.labels(node.name)).not.toHaveProperty([SERVICE]);
  // The CRD is younger than the coordinator, which looks for it now and then.
  await expect
    .poll(reasonOfService, { timeout: 30_000 })
    .toBe(`the driver nvidia is required, but the drivers of nvidia-gpu differ: pci ${IDLE} has none`);
  await bindPci(host, IDLE, 'nvidia');
  await allUsable();
});

test('one of eight that falls off the bus is not counted any more, and what asks for eight is withdrawn', async () => {
  await allUsable();
  const fromMs = performance.now();
  const putBack = await dropPci(host, SLOTS[3] ?? '');
  await until(COUNT, '7');
  await until(TRAINING, undefined);
  await until(SERVICE, undefined);
  expect(await reasonOfService()).toBe(
    `nvidia-gpu >= 8 is required, but the agent sees 7 of nvidia-gpu, and no longer pci ${SLOTS[3]}`,
  );
  await putBack();
  await allUsable();
  expect(since(fromMs, COUNT)).toEqual(['7', '8']);
  expect(since(fromMs, GPU)).toEqual([]);
});

test('nothing of it moves when the agent or the coordinator restarts', async () => {
  await allUsable();
  const fromMs = performance.now();
  await node.agent?.kill('SIGKILL');
  await embedded.rig.endCoordinator(await embedded.rig.leader(), 'SIGKILL');
  await embedded.rig.addCoordinator();
  await embedded.rig.leader();
  node.startAgent();
  await embedded.rig.allReady();
  // Both are at work again.
  await bindPci(host, IDLE, undefined);
  await until(DRIVER, 'mixed');
  for (const key of [GPU, COUNT]) expect(since(fromMs, key)).toEqual([]);
  expect(since(fromMs, DRIVER)).toEqual(['mixed']);
  expect(since(fromMs, TRAINING)).toEqual([undefined]);
  await bindPci(host, IDLE, 'nvidia');
  await allUsable();
});

test('a count that another client has set stays unchanged', async () => {
  const { api } = embedded.controlPlane;
  const other = await unpackHost('gpu-server');
  try {
    const second = await embedded.rig.addNode({ sysfsRoot: other.sysfsRoot });
    const at = `/api/v1/nodes/${second.name}?fieldManager=nfd-master`;
    await embedded.rig.history.until(second.name, COUNT, '2', 30_000);
    const fromMs = performance.now();
    const operations = (value: string) => [{ op: 'add', path: `/metadata/labels/${COUNT.replace('/', '~1')}`, value }];
    await api.patch(at, operations('2'), 'application/json-patch+json');
    // Another value takes the key away from its owner.
    await api.patch(at, operations('many'), 'application/json-patch+json');
    const slots = ['0000:18:00.0', '0000:2a:00.0'];
    await dropPci(other, slots[0] ?? '');
    await dropPci(other, slots[1] ?? '');
    await embedded.rig.history.until(second.name, GPU, undefined, 30_000);
    expect(embedded.rig.history.since(fromMs, COUNT, second.name).map(({ to }) => to)).toEqual(['many']);
  } finally {
    await other.remove();
  }
});

test('the console shows the rules, what is wrong with them, and what they do', async () => {
  type Document = { problems: object[]; rules: { label: string; lines: object[]; nodes: unknown }[] };
  const leader = await embedded.rig.leader();
  const all = await leader.console<Document>('/v1/rules');
  const problem = '"" is not a label key, nor a pattern that one could match';
  expect(all?.problems).toEqual([{ file: TRAINING, line: 2, column: 10, problem }]);
  expect(all?.rules.find(({ label }) => label === TRAINING)).toEqual({
    label: TRAINING,
    file: TRAINING,
    lines: [{ line: 1, text: 'count:nvidia-gpu >= 8 && driver:nvidia-gpu = nvidia => large', value: 'large' }],
    nodes: { given: 1, held: 0, withheld: 0 },
  });
  const one = await leader.console<Document>(`/v1/rules?label=${TRAINING}`);
  expect(one?.rules[0]?.nodes).toMatchObject({ given: [{ node: node.name, value: 'large' }] });
});

describe('dynamic resource allocation', () => {
  const slice = (devices: number, generation: number) => ({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name: `gpus-${generation}` },
    spec: {
      driver: 'gpu.example.com',
      nodeName: node.name,
      pool: { name: 'gpus', generation, resourceSliceCount: 1 },
      devices: Array.from({ length: devices }, (_, index) => ({ name: `gpu-${index}` })),
    },
  });
  const watches = async () => {
    const of = (verb: string) => embedded.controlPlane.requestTotals({ verb, resource: 'resourceslices' });
    return (await of('LIST')) + (await of('WATCH'));
  };

  test('is looked at only while a rule asks for it, and counts what drivers offer on the node', async () => {
    const { api } = embedded.controlPlane;
    const before = await watches();
    await writeFile(path.join(rules, 'accelerators/offered'), 'dra:gpu.example.com >= 2\n');
    await waitFor('the slices to be watched', async () => (await watches()) > before, { timeoutMs: 30_000 });
    await api.post(SLICES, slice(1, 1));
    await api.post(SLICES, slice(2, 2));
    await until(OFFERED, 'true');
    await api.delete(`${SLICES}/gpus-2`);
    await until(OFFERED, undefined);
    await rm(path.join(rules, 'accelerators/offered'));
  });
});

test('a driver that comes and goes is held back for a while', async () => {
  await allUsable();
  const driver = () => embedded.rig.history.labels(node.name)[DRIVER];
  const isHeldBack = async () => (await reasonOfService()).includes('changed too often, and is held back');
  for (let time = 0; time < 6 && !(await isHeldBack()); time += 1) {
    await bindPci(host, IDLE, undefined);
    await waitFor('the driver to go', () => driver() !== 'nvidia', { timeoutMs: 30_000 });
    await bindPci(host, IDLE, 'nvidia');
    const isSettled = async () => driver() === 'nvidia' || (await isHeldBack());
    await waitFor('the driver to be back, or held back', isSettled, { timeoutMs: 30_000, everyMs: 100 });
  }
  expect(await isHeldBack()).toBe(true);
  await until(DRIVER, undefined);
  await allUsable();
});
