import { rename, symlink, unlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type Host, unpackHost } from '../../fixtures/unpack.ts';
import { plugUsb, type UsbDevice, unplugUsb } from '../../fixtures/usb.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';

// The rules that are shipped, the fence that is shipped, and real processes.

const EDGETPU = 'accelerators/edgetpu';
const IDENTITY = 'device.rollcall.dev/edgetpu';
const RULES = path.resolve(import.meta.dirname, '../../../deploy/rules');
const PORT = '1-3';
const FRESH: UsbDevice = { port: PORT, vendor: '1a6e', device: '089a', interfaces: [{ class: 'fe' }] };
const USED: UsbDevice = { port: PORT, vendor: '18d1', device: '9302', interfaces: [{ class: 'ff' }] };
const FRESH_KEY = 'feature.node.kubernetes.io/usb-fe_1a6e_089a.present';
const USED_KEY = 'feature.node.kubernetes.io/usb-ff_18d1_9302.present';
const GRACE_MS = 5000;

let embedded: EmbeddedRig;
let rig: Rig;
let host: Host;
let node: SimulatedNode;

beforeAll(async () => {
  host = await unpackHost('coral-usb');
  await unplugAll();
  embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs: [`--label-dir=${RULES}`, '--stale-after-seconds=3'] });
  rig = embedded.rig;
  node = await rig.addNode({ sysfsRoot: host.sysfsRoot });
  await rig.allReady();
});
afterEach(unplugAll);
afterAll(async () => {
  await embedded?.stop();
  await host?.remove();
});

/** The machine has its stick where its kernel found it; here it begins without. */
async function unplugAll(): Promise<void> {
  for (const port of ['2-1', PORT]) await unplugUsb(host, port).catch(() => {});
}

const labels = () => rig.history.labels(node.name);
const since = (atMs: number, key: string) => rig.history.since(atMs, key, node.name).map(({ to }) => to);

test('a stick is labelled once, keeps its label through its first use, and loses it when it is pulled out', async () => {
  const pluggedMs = performance.now();
  await plugUsb(host, FRESH);
  await rig.history.until(node.name, EDGETPU, 'true', 2000);
  expect(labels()).toMatchObject({ [IDENTITY]: 'true', [FRESH_KEY]: 'true' });

  await unplugUsb(host, PORT);
  await new Promise((done) => setTimeout(done, 2000));
  expect(labels()[EDGETPU]).toBe('true');
  await plugUsb(host, USED);
  await rig.history.until(node.name, USED_KEY, 'true', 2000);
  await rig.history.until(node.name, FRESH_KEY, undefined);
  expect(since(pluggedMs, EDGETPU)).toEqual(['true']);

  const pulledMs = performance.now();
  await unplugUsb(host, PORT);
  await rig.history.until(node.name, EDGETPU, undefined, GRACE_MS + 2000);
  const [gone] = rig.history.since(pulledMs, EDGETPU, node.name);
  expect((gone?.atMs ?? 0) - pulledMs).toBeGreaterThan(GRACE_MS - 1100);
  for (const key of [IDENTITY, FRESH_KEY, USED_KEY]) await rig.history.until(node.name, key, undefined);
  expect(since(pluggedMs, EDGETPU)).toEqual(['true', undefined]);
  const { annotations = {} } = (await rig.cluster.api.get(`/api/v1/nodes/${node.name}`)).metadata;
  expect(annotations['rollcall.dev/implied-labels']).toBeUndefined();
});

test('a device that is no known accelerator loses its label within two seconds', async () => {
  const key = 'feature.node.kubernetes.io/usb-ff_abcd_0001.present';
  const stick = { ...USED, vendor: 'abcd', device: '0001' };
  await plugUsb(host, stick);
  await rig.history.until(node.name, key, 'true', 2000);
  await unplugUsb(host, PORT);
  await rig.history.until(node.name, key, undefined, 2000);
});

test('hardware stays while its agent is silent, restarts, or another coordinator takes over', async () => {
  await plugUsb(host, USED);
  await rig.history.until(node.name, EDGETPU, 'true', 2000);
  const fromMs = performance.now();
  await node.agent?.kill('SIGKILL');
  const leader = await rig.leader();
  await rig.endCoordinator(leader, 'SIGKILL');
  await rig.addCoordinator();
  await rig.leader();
  const isSilent = async () =>
    (await (await rig.leader()).metric('rollcall_coordinator_nodes', { state: 'silent' })) === 1;
  await waitFor('the node to be silent', isSilent, { timeoutMs: 30_000, everyMs: 200 });
  expect(labels()).toMatchObject({ [EDGETPU]: 'true', [IDENTITY]: 'true', [USED_KEY]: 'true' });
  node.startAgent();
  await rig.allReady();
  for (const key of [EDGETPU, IDENTITY, USED_KEY]) expect(since(fromMs, key)).toEqual([]);
});

test('a stick that is pulled out while nobody runs is gone when they are back', async () => {
  await plugUsb(host, USED);
  await rig.history.until(node.name, EDGETPU, 'true', 2000);
  await node.agent?.kill('SIGKILL');
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await unplugUsb(host, PORT);
  await rig.addCoordinator();
  node.startAgent();
  await waitFor('the label to go', () => labels()[EDGETPU] === undefined, { timeoutMs: 30_000 });
  await rig.history.until(node.name, IDENTITY, undefined);
});

test('a bus that cannot be read any more costs no label', async () => {
  await plugUsb(host, USED);
  await rig.history.until(node.name, EDGETPU, 'true', 2000);
  const fromMs = performance.now();
  const bus = path.join(host.sysfsRoot, 'bus/usb/devices');
  await rename(bus, `${bus}.kept`);
  await symlink('devices', bus);
  const failures = async () => (await httpGet(`${node.healthUrl}/metrics`)).body;
  const failed = 'rollcall_agent_collector_success{collector="usb"} 0';
  await waitFor('the reading to fail', async () => (await failures()).includes(failed), { everyMs: 100 });
  await unlink(bus);
  await rename(`${bus}.kept`, bus);
  await waitFor('the reading to work', async () => !(await failures()).includes(failed), { everyMs: 100 });
  expect(since(fromMs, EDGETPU)).toEqual([]);
});
