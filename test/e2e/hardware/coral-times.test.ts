import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { plugUsb, unplugUsb } from '../../fixtures/usb.ts';
import { CoralStage, EDGETPU, FRESH, FRESH_KEY, IDENTITY, PORT, USED, USED_KEY } from './coral-stage.ts';

const GRACE_MS = 5000;

let stage: CoralStage;
beforeAll(async () => {
  stage = await CoralStage.start();
});
afterEach(() => stage.unplugAll());
afterAll(() => stage?.stop());

test('a stick is labelled once, keeps its label through its first use, and loses it when it is pulled out', async () => {
  const { host, node, rig } = stage;
  const pluggedMs = performance.now();
  await plugUsb(host, FRESH);
  await stage.until(EDGETPU, 'true', 2000);
  expect(stage.labels()).toMatchObject({ [IDENTITY]: 'true', [FRESH_KEY]: 'true' });

  await unplugUsb(host, PORT);
  await new Promise((done) => setTimeout(done, 2000));
  expect(stage.labels()[EDGETPU]).toBe('true');
  await plugUsb(host, USED);
  await stage.until(USED_KEY, 'true', 2000);
  await stage.until(FRESH_KEY, undefined);
  expect(stage.since(pluggedMs, EDGETPU)).toEqual(['true']);

  const pulledMs = performance.now();
  await unplugUsb(host, PORT);
  await stage.until(EDGETPU, undefined, GRACE_MS + 2000);
  const [gone] = rig.history.since(pulledMs, EDGETPU, node.name);
  expect((gone?.atMs ?? 0) - pulledMs).toBeGreaterThan(GRACE_MS - 1100);
  for (const key of [IDENTITY, FRESH_KEY, USED_KEY]) await stage.until(key, undefined);
  expect(stage.since(pluggedMs, EDGETPU)).toEqual(['true', undefined]);
  const { annotations = {} } = (await rig.cluster.api.get(`/api/v1/nodes/${node.name}`)).metadata;
  expect(annotations['rollcall.dev/keys'] ?? '').not.toContain('"rule"');
});

test('a device that is no known accelerator loses its label within two seconds', async () => {
  const key = 'feature.node.kubernetes.io/usb-ff_abcd_0001.present';
  const stick = { ...USED, vendor: 'abcd', device: '0001' };
  await plugUsb(stage.host, stick);
  await stage.until(key, 'true', 2000);
  await unplugUsb(stage.host, PORT);
  await stage.until(key, undefined, 2000);
});
