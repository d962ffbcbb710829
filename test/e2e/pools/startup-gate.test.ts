import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';

const REQUIRED = ['example.com/first', 'example.com/second'];
const MAX_WAIT_SECONDS = 6;
const gate = { key: STARTUP_TAINT, effect: 'NoSchedule' } as const;
const foreign = { key: 'example.com/foreign', value: 'x', effect: 'NoSchedule' } as const;

let embedded: EmbeddedRig;
beforeAll(async () => {
  const wait = `--startup-gate-max-wait-seconds=${MAX_WAIT_SECONDS}`;
  embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs: [`--startup-gate-requires=${REQUIRED}`, wait] });
});
afterAll(() => embedded?.stop());

function read(name: string): Promise<NodeObject> {
  return embedded.controlPlane.api.get<NodeObject>(`/api/v1/nodes/${name}`);
}

async function taintsOf(name: string): Promise<string[]> {
  return ((await read(name)).spec.taints ?? []).map(({ key }) => key);
}

function label(name: string, ...labels: string[]): Promise<string> {
  return embedded.controlPlane.kubectl(['label', 'node', name, ...labels]);
}

async function isOpen(name: string): Promise<boolean> {
  return !(await taintsOf(name)).includes(STARTUP_TAINT);
}

describe('the startup gate of a new node', () => {
  test('is opened when the last of the required labels is there, and nothing else is touched', async () => {
    const { api } = embedded.controlPlane;
    await createNode(api, 'complete', { taints: [foreign, gate, { ...foreign, key: 'example.com/other' }] });
    await label('complete', `${REQUIRED[0]}=1`);
    const leader = await embedded.rig.leader();
    await waitFor('the coordinator to see the first label', async () => {
      const { keys } = await leader.explain('complete');
      return keys.some(({ key, reason }) => key === STARTUP_TAINT && reason.startsWith(`waits for ${REQUIRED[1]},`));
    });
    expect(await isOpen('complete')).toBe(false);
    await label('complete', `${REQUIRED[1]}=1`);
    await waitFor('the gate to be opened', () => isOpen('complete'));
    expect(await taintsOf('complete')).toEqual(['example.com/foreign', 'example.com/other']);
    expect(await leader.metric('rollcall_coordinator_startup_gates_opened_total', { outcome: 'complete' })).toBe(1);
  });

  test('is never put back, not even when the labels go', async () => {
    const { api } = embedded.controlPlane;
    await createNode(api, 'once', { labels: Object.fromEntries(REQUIRED.map((key) => [key, '1'])), taints: [gate] });
    await waitFor('the gate to be opened', () => isOpen('once'));
    await label('once', `${REQUIRED[0]}-`);
    const leader = await embedded.rig.leader();
    await waitFor('the coordinator to see that a label went', async () => {
      const { keys } = await leader.explain('once');
      return keys.some(({ key, stance }) => key === STARTUP_TAINT && stance !== 'absent');
    });
    expect(await isOpen('once')).toBe(true);
    expect((await leader.explain('once')).pending).toBeUndefined();
  });

  test('is opened when the node has waited long enough, with an Event that says what is missing', async () => {
    const { api } = embedded.controlPlane;
    await createNode(api, 'late', { taints: [gate] });
    await label('late', `${REQUIRED[0]}=1`);
    expect(await isOpen('late')).toBe(false);
    await waitFor('the gate to be opened', () => isOpen('late'), { timeoutMs: 20_000 });
    const waitedMs = Date.now() - Date.parse(String((await read('late')).metadata['creationTimestamp']));
    expect(waitedMs).toBeGreaterThanOrEqual(MAX_WAIT_SECONDS * 1000);
    const told = await waitFor('the Event', async () => {
      const events = await api.list<{ metadata: { name: string }; reason: string; message: string }>(
        '/api/v1/namespaces/default/events',
      );
      return events.find(({ reason }) => reason === 'StartupGateExpired');
    });
    expect(told.message).toContain(REQUIRED[1]);
    expect(told.message).not.toContain(REQUIRED[0]);
  });
});

test('pruning opens what is left of it', async () => {
  const { rig, controlPlane } = embedded;
  for (const each of [...rig.coordinators]) await rig.endCoordinator(each, 'SIGTERM');
  await createNode(controlPlane.api, 'pruned', { taints: [foreign, gate] });
  await rig.prune();
  expect(await taintsOf('pruned')).toEqual(['example.com/foreign']);
});
