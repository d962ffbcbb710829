import { request } from 'node:http';
import { SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { setPodReady } from '../../control-plane/cluster.ts';
import { createWorkspace, installWorkspaceCrd, setWorkspaceNode } from '../../control-plane/workspaces.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { startPolicy } from '../apply/policy.ts';
import { keyIn, serviceIn, untilExplained } from './explained.ts';
import { firstPod, forceDelete, probeIn } from './service-pods.ts';

/** Three seconds of the machine. */
const STALE_AFTER_SECONDS = 12;
const RFC3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 3,
    coordinators: 2,
    coordinatorArgs: [`--stale-after-seconds=${STALE_AFTER_SECONDS}`],
    agentArgs: ['--probe-period-ms=800', '--probe-idle-period-ms=800'],
    clockSpeed: 4,
  });
  rig = embedded.rig;
  await rig.allReady(60_000);
});
afterAll(() => embedded?.stop());
// A test that failed leaves the others their agents.
afterEach(() => Promise.all(rig.nodes.map(({ agent }) => agent?.kill('SIGCONT'))));

const isAllWell = ({ services }: { services: readonly { state?: string | undefined }[] }) =>
  services.every(({ state }) => state === 'ready');

type Answer = { status: number; headers: Record<string, unknown>; document: Record<string, unknown> };

async function ask(coordinator: Coordinator, path: string, options: object = {}): Promise<Answer> {
  const { console: address } = await coordinator.waitForLog('Started');
  const response = Promise.withResolvers<import('node:http').IncomingMessage>();
  const outgoing = request(`http://${address}${path}`, { agent: false, ...options }, response.resolve);
  outgoing.on('error', response.reject).end();
  const { statusCode = 0, headers } = await response.promise;
  const text = (await (await response.promise).toArray()).join('');
  return { status: statusCode, headers, document: JSON.parse(text) };
}

describe('the page of a node', () => {
  test('says of a node on which all is well what is wanted, since when, and by which evidence', async () => {
    const { name } = rig.node(0);
    const page = await untilExplained(rig, name, isAllWell);
    expect(page).toMatchObject({ name, replica: { leading: true, guards: [] }, agent: { state: 'fresh' } });
    expect(page.agent.lastReportSecondsAgo).toBeLessThan(STALE_AFTER_SECONDS);
    for (const [kind, key] of [
      ['ws-daemon', WS_DAEMON_READY],
      ['registry-facade', REGISTRY_FACADE_READY],
    ] as const) {
      const { host, port } = rig.node(0).service(kind);
      const evidence = expect.stringContaining(`${host}:${port}`);
      const shown = serviceIn(page, kind);
      expect(shown).toMatchObject({
        state: 'ready',
        since: RFC3339,
        pods: [{ pod: `default/${kind}-${name}`, ready: true, terminating: false }],
        checks: [
          { name: 'pod', state: 'ready' },
          { name: 'probe', state: 'ready', reason: evidence, cause: 'agent' },
        ],
      });
      expect(shown.reason).toBe(`pod default/${kind}-${name} is Ready; ${probeIn(shown)?.reason}`);
      const { reason, since } = shown;
      const wanted = { kind: 'label', service: kind, stance: 'present', value: 'true', onNode: 'true', reason, since };
      expect(keyIn(page, key)).toMatchObject(wanted);
    }
    expect(page.pending).toBeUndefined();
    expect(page.changes).toMatchObject([{ at: RFC3339, to: 'true', reason: expect.any(String) }, { to: 'true' }]);
  });

  test('names the pod that is not Ready, and says when there is none', async () => {
    const node = rig.node(0);
    const { api } = embedded.controlPlane;
    const pod = firstPod(node, 'ws-daemon');
    const before = await untilExplained(rig, node.name, isAllWell);
    await setPodReady(api, 'default', pod, false);
    const page = await untilExplained(
      rig,
      node.name,
      ({ pending, changes }) => !pending && changes[0]?.to === undefined,
    );
    const reason = `pod default/${pod} is not Ready`;
    expect(serviceIn(page, 'ws-daemon')).toMatchObject({ state: 'not-ready', reason });
    expect(probeIn(serviceIn(page, 'ws-daemon'))?.state).toBe('ready');
    expect(serviceIn(page, 'ws-daemon').pods).toMatchObject([{ ready: false }]);
    const key = keyIn(page, WS_DAEMON_READY);
    expect(key).toMatchObject({ stance: 'absent', onNode: null, reason });
    expect(Date.parse(key.since ?? '')).toBeGreaterThanOrEqual(Date.parse(keyIn(before, WS_DAEMON_READY).since ?? ''));
    expect(page.changes[0]).toMatchObject({ key: WS_DAEMON_READY, from: 'true', reason });

    await forceDelete(api, pod);
    const none = await untilExplained(rig, node.name, ({ services }) => services[0]?.pods.length === 0);
    const missing = {
      stance: 'absent',
      reason: 'no pod on the node matches component=ws-daemon in default',
      since: key.since,
    };
    expect(keyIn(none, WS_DAEMON_READY)).toMatchObject(missing);
    expect(serviceIn(none, 'registry-facade').state).toBe('ready');
  });

  test('says what the probe saw, and which key a policy refuses', async () => {
    const node = rig.node(1);
    const standIn = node.service('registry-facade');
    await standIn.fault('refuse');
    await rig.history.until(node.name, REGISTRY_FACADE_READY, undefined);
    const page = await untilExplained(rig, node.name, ({ services }) => services[1]?.state === 'not-ready');
    const reason = `https ${standIn.host}:${standIn.port} refused the connection twice (ECONNREFUSED)`;
    expect(serviceIn(page, 'registry-facade')).toMatchObject({ reason, pods: [{ ready: true }] });
    expect(probeIn(serviceIn(page, 'registry-facade'))).toEqual({
      name: 'probe',
      state: 'not-ready',
      reason,
      cause: 'agent',
    });
    expect(keyIn(page, REGISTRY_FACADE_READY)).toMatchObject({ stance: 'absent', reason });

    const { controlPlane } = embedded;
    await startPolicy(
      { controlPlane, kubeconfig: rig.cluster.coordinatorKubeconfig },
      {
        reason: 'Forbidden',
        expression: `object.metadata.name != '${node.name}' || !('${REGISTRY_FACADE_READY}' in object.metadata.labels)`,
        message: 'not on this node',
        refused: { labels: { [REGISTRY_FACADE_READY]: 'true' } },
        on: node.name,
      },
    );
    await standIn.fault('none');
    const isRefused = ({ keys }: typeof page) => keys.some(({ skipped }) => skipped);
    const refused = keyIn(await untilExplained(rig, node.name, isRefused), REGISTRY_FACADE_READY);
    const skipped = { cause: 'denied', message: expect.stringContaining('not on this node') };
    expect(refused).toMatchObject({ stance: 'present', onNode: null, skipped });
  });

  test('names the workspaces that keep the node', async () => {
    const { name } = rig.node(2);
    const { api } = embedded.controlPlane;
    const isWanted = (document: Parameters<typeof keyIn>[0]) => keyIn(document, SCALE_DOWN_DISABLED).onNode === 'true';
    const without = keyIn(await untilExplained(rig, name, isAllWell), SCALE_DOWN_DISABLED);
    expect(without).toMatchObject({
      stance: 'absent',
      reason: 'no workspace and no pod of a NodeHold is on the node',
    });
    await installWorkspaceCrd(api);
    await createWorkspace(api, { name: 'busy' });
    await setWorkspaceNode(api, { name: 'busy' }, name);
    const page = await untilExplained(rig, name, isWanted, 60_000);
    expect(page.workspaces).toEqual(['default/busy']);
    const reason = 'workspace on the node: default/busy';
    expect(keyIn(page, SCALE_DOWN_DISABLED)).toMatchObject({ stance: 'present', since: RFC3339, reason });
  });

  test('says how long an agent has been silent, and that this costs the labels', async () => {
    const node = rig.node(2);
    await node.agent?.kill('SIGSTOP');
    const page = await untilExplained(rig, node.name, ({ agent }) => agent.state === 'silent');
    expect(page.agent).not.toHaveProperty('guard');
    expect(page.agent.lastReportSecondsAgo).toBeGreaterThanOrEqual(STALE_AFTER_SECONDS);
    const reason = 'the agent has been silent for too long';
    expect(page.services).toMatchObject([
      { state: 'not-ready', reason, pods: [{ ready: true }] },
      { state: 'not-ready', reason },
    ]);
    for (const key of [WS_DAEMON_READY, REGISTRY_FACADE_READY]) {
      expect(keyIn(page, key)).toMatchObject({ stance: 'absent', reason });
      await rig.history.until(node.name, key, undefined);
    }
    await node.agent?.kill('SIGCONT');
    await untilExplained(rig, node.name, isAllWell);
  });

  test('says which guard holds a label, and that a new leader holds what it has not heard', async () => {
    const { name } = rig.node(2);
    const held = { stance: 'keep', onNode: 'true', service: 'ws-daemon', since: RFC3339 };
    await rig.history.until(name, WS_DAEMON_READY, 'true');
    const fromMs = performance.now();
    await Promise.all(rig.nodes.map(({ agent }) => agent?.kill('SIGSTOP')));
    const guarded = await untilExplained(rig, name, ({ agent }) => agent.state === 'silent');
    expect(guarded).toMatchObject({
      replica: { guards: [{ subject: 'agents', of: 'fleet' }] },
      agent: { guard: 'fleet' },
    });
    const reason = 'the agent is silent, and so are most others (guard: fleet)';
    expect(serviceIn(guarded, 'ws-daemon')).toMatchObject({ state: 'unknown', reason });
    expect(keyIn(guarded, WS_DAEMON_READY)).toMatchObject({ ...held, reason });

    await rig.endCoordinator(await rig.leader(), 'SIGTERM');
    const unheard = await untilExplained(rig, name, ({ agent }) => agent.state === 'unheard');
    expect(keyIn(unheard, WS_DAEMON_READY)).toMatchObject({
      ...held,
      reason: 'the agent has not reported to this leader yet',
    });
    expect(probeIn(serviceIn(unheard, 'ws-daemon'))?.state).toBe('unknown');
    await Promise.all(rig.nodes.map(({ agent }) => agent?.kill('SIGCONT')));
    await untilExplained(rig, name, isAllWell);
    expect(rig.history.since(fromMs, WS_DAEMON_READY, name)).toEqual([]);
  });
});

describe('the console', () => {
  test('lists all nodes, and refuses what it does not serve', async () => {
    const leader = await rig.leader();
    const { name } = rig.node(2);
    const { document } = await ask(leader, '/v1/nodes');
    const services = { 'ws-daemon': 'ready', 'registry-facade': 'ready' };
    const quiet = { heldBack: [], contested: [], skipped: [], pending: false };
    const summary = { name, agent: 'fresh', agentVersion: expect.any(String), services, ...quiet };
    expect(document['nodes']).toEqual(expect.arrayContaining([summary]));
    const problem = { 'content-type': 'application/problem+json' };
    const unknown = await ask(leader, '/v1/nodes/nobody');
    expect(unknown).toMatchObject({ status: 404, headers: problem, document: { status: 404 } });
    expect(unknown.document['detail']).toContain('nobody');
    expect(await ask(leader, '/v1/nodes', { method: 'POST' })).toMatchObject({
      status: 405,
      headers: { ...problem, allow: 'GET, HEAD' },
    });
    const elsewhere = { headers: { host: 'console.example.com' } };
    expect(await ask(leader, `/v1/nodes/${name}`, elsewhere)).toMatchObject({ status: 403, headers: problem });
  });

  test('of a standby passes questions on to the leader, and says for itself that it does not lead, and who does', async () => {
    const leader = await rig.leader();
    const standby = await rig.addCoordinator();
    await standby.ready();
    const own = { headers: { 'x-rollcall-forwarded': '1' } };
    const { name, reportsUrl } = leader;
    const note = expect.stringContaining('does not lead');
    const replica = { name: standby.name, leading: false, leader: name, leaderUrl: reportsUrl, note };
    const names = async () => (await ask(standby, '/v1/plan', own)).document['replica'];
    await expect.poll(names, { timeout: 20_000 }).toMatchObject(replica);
    for (const path of ['/v1/nodes', `/v1/nodes/${rig.node(2).name}`]) {
      expect((await ask(standby, path, own)).document).toMatchObject({ replica });
      expect((await ask(standby, path)).document).toMatchObject({ replica: { name, leading: true } });
    }
    const unknown = await ask(standby, '/v1/nodes/nobody');
    expect(unknown).toMatchObject({ status: 404, headers: { 'content-type': 'application/problem+json' } });
  });

  test('shows in a dry run what would be written, and why, and nothing is written', async () => {
    const { name } = rig.node(2);
    await Promise.all([...rig.coordinators].map((each) => rig.endCoordinator(each, 'SIGTERM')));
    await embedded.controlPlane.kubectl(['label', 'node', name, `${WS_DAEMON_READY}-`]);
    const patches = await embedded.nodePatches();
    const dry = await rig.addCoordinator(['--dry-run']);
    await untilExplained(rig, name, (page) => isAllWell(page) && page.pending?.apply !== undefined, 40_000);
    await dry.waitForLog('Left a write out for the dry run');
    const { document } = await ask(dry, '/v1/plan');
    const planned = (document['nodes'] as { name: string }[]).find((each) => each.name === name);
    expect(planned).toMatchObject({
      apply: { labels: { [WS_DAEMON_READY]: 'true' } },
      reasons: { [`label:${WS_DAEMON_READY}`]: expect.stringMatching(/is Ready; tcp /) },
    });
    expect(await embedded.nodePatches()).toBe(patches);
    expect(rig.history.labels(name)).not.toHaveProperty([WS_DAEMON_READY]);
  });
});
