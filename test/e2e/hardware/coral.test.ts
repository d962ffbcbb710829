import { rename, symlink, unlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { plugUsb, unplugUsb } from '../../fixtures/usb.ts';
import { httpGet } from '../../rig/http-get.ts';
import { CoralStage, EDGETPU, IDENTITY, PORT, USED, USED_KEY } from './coral-stage.ts';

let stage: CoralStage;
beforeAll(async () => {
  stage = await CoralStage.start(4);
});
afterEach(() => stage.unplugAll());
afterAll(() => stage?.stop());

async function plug(): Promise<void> {
  await plugUsb(stage.host, USED);
  for (const key of [EDGETPU, IDENTITY, USED_KEY]) await stage.until(key, 'true');
}

test('hardware stays while its agent is silent, restarts, or another coordinator takes over', async () => {
  await plug();
  const { node, rig } = stage;
  const fromMs = performance.now();
  await node.agent?.kill('SIGKILL');
  const leader = await rig.leader();
  await rig.endCoordinator(leader, 'SIGKILL');
  await rig.addCoordinator();
  await rig.leader();
  const isSilent = async () =>
    (await (await rig.leader()).metric('rollcall_coordinator_nodes', { state: 'silent' })) === 1;
  await waitFor('the node to be silent', isSilent, { timeoutMs: 30_000, everyMs: 200 });
  expect(stage.labels()).toMatchObject({ [EDGETPU]: 'true', [IDENTITY]: 'true', [USED_KEY]: 'true' });
  node.startAgent();
  await rig.allReady();
  for (const key of [EDGETPU, IDENTITY, USED_KEY]) expect(stage.since(fromMs, key)).toEqual([]);
});

test('a stick that is removed while rollcall is down is gone when it is back', async () => {
  await plug();
  const { node, rig } = stage;
  await node.agent?.kill('SIGKILL');
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await unplugUsb(stage.host, PORT);
  await rig.addCoordinator();
  node.startAgent();
  await waitFor('the label to go', () => stage.labels()[EDGETPU] === undefined, { timeoutMs: 30_000 });
  await stage.until(IDENTITY, undefined);
});

test('a bus that cannot be read any more costs no label', async () => {
  await plug();
  const { host, node } = stage;
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
  expect(stage.since(fromMs, EDGETPU)).toEqual([]);
});
