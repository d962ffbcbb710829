import type { AuditDocument } from '@rollcall/common/console.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 3, agentArgs: ['--probe-period-ms=200', '--probe-idle-period-ms=200'] });
  rig = embedded.rig;
  await rig.allReady(60_000);
});
afterAll(() => embedded?.stop());

const METRIC = 'rollcall_coordinator_lie_seconds_total';

async function audit(coordinator: Coordinator): Promise<AuditDocument> {
  const document = await coordinator.console<AuditDocument>('/v1/audit');
  if (!document) throw new Error('There is no audit');
  return document;
}

const stateOf = async (coordinator: Coordinator, node: string) =>
  (await coordinator.explain(node)).services.find(({ name }) => name === 'ws-daemon')?.state;

/** When something happened, at the earliest and at the latest. */
async function during(work: () => Promise<unknown>): Promise<{ beganMs: number; endedMs: number }> {
  const beganMs = performance.now();
  await work();
  return { beganMs, endedMs: performance.now() };
}

function expectBetween(seconds: number, leastMs: number, mostMs: number): void {
  expect(seconds).toBeGreaterThan((0.95 * leastMs) / 1000);
  expect(seconds).toBeLessThan((1.05 * mostMs) / 1000);
}

test('while rollcall writes, a killed service is a lie for as long as the write takes', async () => {
  const leader = await rig.leader();
  const { name } = rig.node(0);
  const labels = { key: WS_DAEMON_READY, direction: 'said-ready' };
  const before = await leader.metric(METRIC, labels);
  await rig.node(0).service('ws-daemon').fault('refuse');
  await rig.history.until(name, WS_DAEMON_READY, undefined);
  const lied = async () => (await leader.metric(METRIC, labels)) - before;
  await expect.poll(lied).toBeGreaterThan(0);
  expect(await lied()).toBeLessThan(5);
  const { entries, nodes, replica } = await audit(leader);
  expect([nodes, replica.leading]).toEqual([3, true]);
  const entry = entries.find(({ node, direction }) => node === name && direction === 'said-ready');
  expect(entry).toMatchObject({ key: WS_DAEMON_READY, service: 'ws-daemon', cause: 'unwritten', times: 1 });
  expect(entry?.evidence).toContain('refused the connection twice');
  expect(entry).not.toHaveProperty('since');
  await rig.node(0).service('ws-daemon').fault('none');
  await rig.history.until(name, WS_DAEMON_READY, 'true');
});

describe('in a dry run, beside a labeler that never withdraws', () => {
  test('the book has its lies, to the second, and names nodes', async () => {
    await Promise.all([...rig.coordinators].map((each) => rig.endCoordinator(each, 'SIGTERM')));
    const dry = await rig.addCoordinator(['--dry-run']);
    const [liar, honest] = [rig.node(1), rig.node(2)];
    const isReady = async (node: string) => (await stateOf(dry, node)) === 'ready';
    for (const { name } of rig.nodes)
      await waitFor(name, () => isReady(name).catch(() => false), { timeoutMs: 60_000 });

    // What the labeler has set stays, whatever becomes of the service.
    const began = await during(async () => {
      await liar.service('ws-daemon').fault('refuse');
      await waitFor('the service to be gone', async () => (await stateOf(dry, liar.name)) === 'not-ready');
    });
    // And this label it forgot.
    const forgot = await during(async () => {
      await embedded.controlPlane.kubectl(['label', 'node', honest.name, `${REGISTRY_FACADE_READY}-`]);
      await expect.poll(async () => (await audit(dry)).keys.map(({ key }) => key)).toContain(REGISTRY_FACADE_READY);
    });
    const said = (direction: string, key: string) => dry.metric(METRIC, { key, direction });
    const enough = async () => (await said('said-ready', WS_DAEMON_READY)) >= 10;
    await waitFor('ten seconds in the book', enough, { timeoutMs: 60_000 });
    const book = { ready: 0, notReady: 0 };
    const read = await during(async () => {
      book.ready = await said('said-ready', WS_DAEMON_READY);
      book.notReady = await said('said-not-ready', REGISTRY_FACADE_READY);
    });
    expectBetween(book.ready, read.beganMs - began.endedMs, read.endedMs - began.beganMs);
    expectBetween(book.notReady, read.beganMs - forgot.endedMs, read.endedMs - forgot.beganMs);

    const { keys, entries, driftSecondsPerNodeDay } = await audit(dry);
    expect(keys.find(({ key }) => key === WS_DAEMON_READY)).toMatchObject({ kind: 'label', nodesNow: 1 });
    expect(entries).toContainEqual(
      expect.objectContaining({
        node: liar.name,
        key: WS_DAEMON_READY,
        direction: 'said-ready',
        cause: 'dry-run',
        since: expect.any(String),
        evidence: expect.stringContaining('refused'),
      }),
    );
    expect(entries).toContainEqual(
      expect.objectContaining({ node: honest.name, key: REGISTRY_FACADE_READY, direction: 'said-not-ready' }),
    );
    expect(driftSecondsPerNodeDay).toBeGreaterThan(0);

    await liar.service('ws-daemon').fault('none');
    await waitFor('the service to be back', () => isReady(liar.name));
    const atEnd = await said('said-ready', WS_DAEMON_READY);
    const entry = async () =>
      (await audit(dry)).entries.find(({ node, key }) => node === liar.name && key === WS_DAEMON_READY);
    await expect.poll(entry).not.toHaveProperty('since');
    expect(await said('said-ready', WS_DAEMON_READY)).toBeLessThan(atEnd + 1);
  });
});
