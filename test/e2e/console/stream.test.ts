import type { NodesDocument, ServicesDocument } from '@rollcall/common/console.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { StreamClient } from './stream-client.ts';

let embedded: EmbeddedRig;
let rig: Rig;
const clients: StreamClient[] = [];
beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 3,
    coordinators: 2,
    coordinatorArgs: ['--stale-after-seconds=5'],
    agentArgs: ['--probe-period-ms=200', '--probe-idle-period-ms=200'],
  });
  rig = embedded.rig;
  await rig.allReady(60_000);
});
afterAll(() => embedded?.stop());
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

const addressOf = async (coordinator: Coordinator) => String((await coordinator.waitForLog('Started'))['console']);

async function listen(coordinator: Coordinator, options: { after?: string; lastEventId?: string | undefined } = {}) {
  const client = new StreamClient(await addressOf(coordinator), options);
  clients.push(client);
  await expect.poll(() => client.named('replica')).not.toEqual([]);
  return client;
}

const standby = async () => {
  const leader = await rig.leader();
  const other = rig.coordinators.find((coordinator) => coordinator !== leader);
  if (!other) throw new Error('There is no standby');
  return other;
};

test('shows that a service is killed and comes back, and a standby shows the same', async () => {
  const leader = await listen(await rig.leader());
  const other = await listen(await standby());
  expect(leader.events[0]).toMatchObject({ name: 'replica', data: { leading: true, guards: [] } });
  expect(other.events[0]).toMatchObject({ data: { leading: true, name: (await rig.leader()).name } });
  const node = rig.node(0);
  await node.service('ws-daemon').fault('refuse');
  for (const client of [leader, other]) {
    await expect.poll(() => client.statesOf(node.name, 'ws-daemon').at(-1)).toBe('not-ready');
  }
  await node.service('ws-daemon').fault('none');
  for (const client of [leader, other]) {
    await expect.poll(() => client.statesOf(node.name, 'ws-daemon').at(-1)).toBe('ready');
  }
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  await expect.poll(() => leader.events.at(-1)).toMatchObject({ name: 'node', data: { pending: false } });
});

test('goes on after a list, and after a lost connection, without a gap', async () => {
  const leader = await rig.leader();
  const { eventId, nodes } = (await leader.console<NodesDocument>('/v1/nodes')) ?? { nodes: [] };
  expect(nodes).toHaveLength(3);
  const node = rig.node(1);
  await node.service('ws-daemon').fault('refuse');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined);
  const first = await listen(leader, { after: eventId ?? '' });
  await expect.poll(() => first.statesOf(node.name, 'ws-daemon')).toContain('not-ready');
  first.close();
  await node.service('ws-daemon').fault('none');
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  const second = await listen(leader, { lastEventId: first.lastId });
  await expect.poll(() => second.statesOf(node.name, 'ws-daemon')).toContain('ready');
  expect([...first.named('reset'), ...second.named('reset')]).toEqual([]);
  const ids = [...first.events, ...second.events].flatMap(({ id }) => id ?? []);
  expect(new Set(ids).size).toBe(ids.length);
});

test('shows that a node is deleted, and that a guard is active', async () => {
  const leader = await rig.leader();
  const client = await listen(leader);
  await Promise.all(rig.nodes.map(({ agent }) => agent?.kill('SIGSTOP')));
  const guarded = { name: 'replica', data: { guards: [{ subject: 'agents', of: 'fleet' }] } };
  await expect.poll(() => client.named('replica').at(-1), { timeout: 30_000 }).toMatchObject(guarded);
  const silent = client.named('node').some(({ data }) => 'agent' in data && data.agent === 'silent');
  await expect.poll(() => silent || client.named('node').some(({ data }) => 'guard' in data)).toBe(true);
  await Promise.all(rig.nodes.map(({ agent }) => agent?.kill('SIGCONT')));
  await expect.poll(() => client.named('replica').at(-1), { timeout: 30_000 }).toMatchObject({ data: { guards: [] } });
  await embedded.controlPlane.kubectl(['create', '-f', '-'], {
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'passing' } }),
  });
  await expect.poll(() => client.named('node').map(({ data }) => 'name' in data && data.name)).toContain('passing');
  await embedded.controlPlane.kubectl(['delete', 'node', 'passing']);
  await expect.poll(() => client.named('node-gone')).toMatchObject([{ data: { name: 'passing' } }]);
});

test('lists the services, with what tells and on how many nodes each is ready', async () => {
  const leader = await rig.leader();
  const all = { ready: 3, notReady: 0, unknown: 0 };
  const services = async () => (await leader.console<ServicesDocument>('/v1/services'))?.services;
  await expect.poll(services, { timeout: 30_000 }).toMatchObject([
    { name: 'ws-daemon', origin: 'built-in', accepted: true, publish: { label: WS_DAEMON_READY }, nodes: all },
    {
      name: 'registry-facade',
      checks: [
        { name: 'pod', what: expect.stringContaining('pod') },
        { name: 'probe', what: expect.stringContaining('probe') },
      ],
      nodes: all,
    },
  ]);
});

test('begins anew when another leads', async () => {
  const before = await rig.leader();
  const other = await standby();
  const client = await listen(before);
  const { lastId } = client;
  await rig.endCoordinator(before, 'SIGTERM');
  await client.ended;
  await expect.poll(() => other.leads(), { timeout: 30_000 }).toBe(true);
  const next = await listen(other, { lastEventId: lastId ?? 'none' });
  await expect.poll(() => next.named('reset')).toHaveLength(1);
  expect(next.events[0]).toMatchObject({ name: 'replica', data: { name: other.name, leading: true } });
});
