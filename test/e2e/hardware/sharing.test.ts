import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type Host, unpackHost } from '../../fixtures/unpack.ts';
import { plugUsb, type UsbDevice, unplugUsb } from '../../fixtures/usb.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';

const NFD = 'nfd-master';
const FACT = 'fact.rollcall.dev/architecture';
const PORT = '1-4';
const KEY = 'feature.node.kubernetes.io/usb-ff_abcd_0001.present';
const STICK: UsbDevice = { port: PORT, vendor: 'abcd', device: '0001', interfaces: [{ class: 'ff' }] };

let embedded: EmbeddedRig;
let host: Host;
let node: SimulatedNode;

beforeAll(async () => {
  host = await unpackHost('coral-usb');
  embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs: ['--fact-labels=architecture,no-such-fact'] });
  node = await embedded.rig.addNode({ sysfsRoot: host.sysfsRoot });
  await embedded.rig.allReady();
  // They come a moment later, and are a write of their own.
  await waitFor('the facts', () => embedded.rig.history.labels(node.name)[FACT], { timeoutMs: 30_000 });
});
afterAll(async () => {
  await embedded?.stop();
  await host?.remove();
});

/** Sends a JSON patch without regard to other owners, as NFD does. */
async function patchAsNfd(operation: 'add' | 'remove'): Promise<void> {
  const path = `/metadata/labels/${KEY.replaceAll('/', '~1')}`;
  const operations = [operation === 'add' ? { op: 'add', path, value: 'true' } : { op: 'remove', path }];
  const resource = `/api/v1/nodes/${node.name}?fieldManager=${NFD}`;
  await embedded.controlPlane.api.patch(resource, operations, 'application/json-patch+json');
}

test('NFD may write the same label, before or after, and neither reverts the other', async () => {
  const { history } = embedded.rig;
  await plugUsb(host, STICK);
  await history.until(node.name, KEY, 'true');
  const fromMs = performance.now();
  const patches = await embedded.nodePatches();
  await patchAsNfd('add');
  // NFD takes its label back, as when its configuration no longer has the class: the device is there nevertheless.
  await patchAsNfd('remove');
  await waitFor('the label to be there again', () => history.since(fromMs, KEY, node.name).at(-1)?.to === 'true');
  expect(history.since(fromMs, KEY, node.name).map(({ to }) => to)).toEqual([undefined, 'true']);
  await waitFor('the writes to be counted', async () => (await embedded.nodePatches()) === patches + 3);
});

test('a label that NFD applied as well stays until NFD takes it back', async () => {
  const { history } = embedded.rig;
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: node.name, labels: { [KEY]: 'true' } } };
  const apply = `/api/v1/nodes/${node.name}?fieldManager=${NFD}`;
  await embedded.controlPlane.api.patch(apply, body, 'application/apply-patch+yaml');
  const fromMs = performance.now();
  await unplugUsb(host, PORT);
  const isOwned = async () => {
    const { managedFields = [] } = (await embedded.controlPlane.api.get(`/api/v1/nodes/${node.name}`)).metadata as {
      managedFields?: { manager: string }[];
    };
    return managedFields.some((entry) => entry.manager === 'rollcall' && JSON.stringify(entry).includes(KEY));
  };
  await waitFor('rollcall to let go', async () => !(await isOwned()));
  expect(history.since(fromMs, KEY, node.name)).toEqual([]);
  const nothing = { ...body, metadata: { name: node.name } };
  await embedded.controlPlane.api.patch(apply, nothing, 'application/apply-patch+yaml');
  await history.until(node.name, KEY, undefined);
});

test('a fact that is asked for is a label, and an unknown fact is none', () => {
  const { history } = embedded.rig;
  expect(history.labels(node.name)[FACT]).toBeDefined();
  expect(Object.keys(history.labels(node.name)).filter((key) => key.startsWith('fact.'))).toHaveLength(1);
});

test('the PCI devices of this very machine are labelled', async ({ skip }) => {
  const devices = realPciDevices();
  if (devices.length === 0) skip('this machine has no PCI bus');
  const [first] = devices;
  const classes = [...new Set(devices.map((device) => device.class))];
  await embedded.rig.endCoordinator(await embedded.rig.leader(), 'SIGTERM');
  await embedded.rig.addCoordinator([`--pci-device-class-whitelist=${classes.join(',')}`]);
  const real = await embedded.rig.addNode({ sysfsRoot: '/sys' });
  await embedded.rig.history.until(
    real.name,
    `feature.node.kubernetes.io/pci-${first?.class}_${first?.vendor}.present`,
    'true',
    30_000,
  );
  const wanted = new Set(devices.map((each) => `feature.node.kubernetes.io/pci-${each.class}_${each.vendor}.present`));
  const labels = Object.keys(embedded.rig.history.labels(real.name)).filter((key) => /pci-.*\.present$/.test(key));
  expect(new Set(labels)).toEqual(wanted);
});

function realPciDevices(): { class: string; vendor: string }[] {
  const bus = '/sys/bus/pci/devices';
  const read = (name: string, file: string) => readFileSync(`${bus}/${name}/${file}`, 'utf8').trim().replace('0x', '');
  try {
    return readdirSync(bus).map((name) => ({ class: read(name, 'class').slice(0, 4), vendor: read(name, 'vendor') }));
  } catch {
    return [];
  }
}
