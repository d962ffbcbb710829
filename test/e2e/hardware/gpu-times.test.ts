import { afterAll, beforeAll, expect, test } from 'vitest';
import { bindPci, dropPci } from '../../fixtures/pci.ts';
import { type Host, unpackHost } from '../../fixtures/unpack.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';

const COUNT = 'device.rollcall.dev/nvidia-gpu.count';
const DRIVER = 'device.rollcall.dev/nvidia-gpu.driver';
/** The one without a driver, and one with. */
const IDLE = '0000:c3:00.0';
const OTHER = '0000:9d:00.0';
const SOON_MS = 2000;

let embedded: EmbeddedRig;
let host: Host;
let node: SimulatedNode;

beforeAll(async () => {
  host = await unpackHost('dgx');
  embedded = await startEmbeddedRig({ nodes: 0 });
  node = await embedded.rig.addNode({ sysfsRoot: host.sysfsRoot });
  await embedded.rig.allReady();
  await until(COUNT, '8', 30_000);
});

afterAll(async () => {
  await embedded?.stop();
  await host?.remove();
});

const until = (key: string, value: string | undefined, timeoutMs = SOON_MS) =>
  embedded.rig.history.until(node.name, key, value, timeoutMs);

test('one of eight that falls off the bus is not counted two seconds later, and counted two seconds after it is back', async () => {
  const putBack = await dropPci(host, OTHER);
  await until(COUNT, '7');
  await putBack();
  await until(COUNT, '8');
});

test('a driver that is bound or unbound shows two seconds later', async () => {
  await until(DRIVER, 'mixed');
  await bindPci(host, IDLE, 'nvidia');
  await until(DRIVER, 'nvidia');
  await bindPci(host, OTHER, undefined);
  await until(DRIVER, 'mixed');
  expect(embedded.rig.history.labels(node.name)[COUNT]).toBe('8');
});
