import { randomUUID } from 'node:crypto';
import { CONNECTIONS_MAX } from '@rollcall/common/http-server.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPod, requestToken, setPodReady } from '../../control-plane/cluster.ts';
import { agentServiceAccount, ownNamespace, reportAudience, requestAgentToken } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { forgedToken, Held, largeReport, stolenToken, Thief } from '../../rig/attacks.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { Rig } from '../../rig/rig.ts';
import { addServicePod, firstPod, forceDelete, probeIn, shownService } from '../gitpod/service-pods.ts';
import { ask as askExtender } from '../scheduler/ask.ts';

let embedded: EmbeddedRig;
let rig: Rig;
let coordinator: Coordinator;
let held: Held;
let thief: Thief;
let fromMs: number;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 3, coordinatorArgs: ['--scheduler-listen=127.0.0.1:0'] });
  rig = embedded.rig;
  await rig.allReady(60_000);
  coordinator = await rig.leader();
});
afterAll(() => embedded?.stop());

beforeEach(() => {
  held = new Held();
  thief = new Thief(coordinator.reportsUrl);
  fromMs = performance.now();
});
afterEach(() => {
  held.drop();
  thief.close();
});

function tokenReviews(): Promise<number> {
  return embedded.controlPlane.requestTotals({ resource: 'tokenreviews' });
}

/** Labels that nodes lost, and got, since the attack began. */
function changes(): unknown[] {
  return [WS_DAEMON_READY, REGISTRY_FACADE_READY].flatMap((key) => rig.history.since(fromMs, key));
}

/** The main job goes on: a killed service costs its label, and a revived one brings it back. */
async function worksMeanwhile(): Promise<void> {
  expect(changes()).toEqual([]);
  const node = rig.node(0);
  await node.kill('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined);
  await node.revive('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
}

function heartbeat(node: string, boot = 'made-up', sequence = 1) {
  return { node, boot, sequence, digest: 'd' };
}

describe('connections that are kept', () => {
  test.each([
    ['the coordinator', () => coordinator.healthUrl],
    ['an agent', () => rig.node(0).healthUrl],
  ])('to the health listener of %s do not keep others out', async (_whose, url) => {
    await held.keepPlain(url(), 300);
    for (let round = 0; round < 5; round += 1) {
      expect((await httpGet(`${url()}/healthz`)).status).toBe(200);
      expect((await httpGet(`${url()}/metrics`)).status).toBe(200);
      await held.keepPlain(url(), 50, '/metrics');
    }
    await waitFor('the others to be closed', () => held.open <= CONNECTIONS_MAX);
    expect(changes()).toEqual([]);
  });

  test('to the listener for reports end soon, and agents are heard meanwhile', async () => {
    await held.refusedTls(coordinator.reportsUrl, 100);
    await Promise.all([held.idleTls(coordinator.reportsUrl, 300), held.silent(coordinator.reportsUrl, 1000)]);
    await worksMeanwhile();
    expect((await coordinator.get('/healthz')).status).toBe(200);
    // The agents have theirs. How many an attacker thinks that he has is no matter: some were never accepted.
    const connections = () => coordinator.metric('rollcall_coordinator_report_connections');
    await waitFor('the others to be closed', async () => (await connections()) <= rig.nodes.length, {
      timeoutMs: 30_000,
    });
    expect(await connections()).toBe(rig.nodes.length);
  });
});

describe('a token', () => {
  test('that is made up costs no TokenReview, and an agent’s renewed one does not wait for it', async () => {
    const node = rig.node(0);
    const genuine = await stolenToken(node.tokenFile);
    const pod = (uid: string) => ({ pod: { name: node.agentPod?.name ?? '', uid } });
    const madeUp = [
      ...Array.from({ length: 50 }, () => randomUUID()),
      ...Array.from({ length: 50 }, () => `${randomUUID()}.e30.e30`),
      // The best forgery without the uid of an agent's pod.
      ...Array.from({ length: 100 }, () => forgedToken(genuine, { 'kubernetes.io': pod(randomUUID()) })),
      // Knowing all that there is to know.
      ...Array.from({ length: 100 }, () => forgedToken(genuine, { jti: randomUUID() })),
      forgedToken(genuine, { aud: ['https://kubernetes.default.svc'] }),
    ];
    const before = await tokenReviews();
    const flood = thief.flood(madeUp, heartbeat(node.name));
    const honest = new Thief(coordinator.reportsUrl, 1);
    const renewed = await requestAgentToken(embedded.controlPlane.api, node.agentPod ?? { name: '', uid: '' });
    expect((await honest.post(renewed, heartbeat('another'))).status).toBe(403);
    honest.close();
    const counts = await flood;
    expect([...counts.keys()].filter((status) => status !== 401 && status !== 0)).toEqual([]);
    expect(await tokenReviews()).toBe(before);
    await worksMeanwhile();
  });

  test('that names an unknown key costs a TokenReview a second at most', async () => {
    const node = rig.node(0);
    const genuine = await stolenToken(node.tokenFile);
    const madeUp = Array.from({ length: 100 }, () => forgedToken(genuine, {}, { kid: randomUUID() }));
    const before = await tokenReviews();
    const startMs = performance.now();
    await thief.flood(madeUp, heartbeat(node.name));
    expect((await tokenReviews()) - before).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startMs) / 1000));
    await worksMeanwhile();
  });

  test('that is bound to a Node and no pod, to a pod that is gone, or to none is refused with 401', async () => {
    const { api } = embedded.controlPlane;
    const { name } = rig.node(1);
    const { uid } = (await api.get(`/api/v1/nodes/${name}`)).metadata;
    const account = { namespace: ownNamespace, serviceAccount: agentServiceAccount, audiences: [reportAudience] };
    const ofNode = await requestToken(api, { ...account, boundObject: { kind: 'Node', name, uid: uid ?? '' } });
    const ofNothing = await requestToken(api, account);
    const created = await createPod(api, {
      namespace: ownNamespace,
      name: 'soon-gone',
      nodeName: name,
      serviceAccount: agentServiceAccount,
    });
    const ofPod = await requestAgentToken(api, { name: 'soon-gone', uid: created.metadata.uid ?? '' });
    const accepted = async () => (await thief.post(ofPod, heartbeat('another'))).status === 403;
    await waitFor('the pod to be seen', accepted);
    await forceDelete(api, 'soon-gone', ownNamespace);
    // The API server itself goes on accepting it for a while.
    await waitFor('the token to be refused', async () => (await thief.post(ofPod, heartbeat(name))).status === 401);
    for (const token of [ofNode, ofNothing]) {
      expect((await thief.post(token, heartbeat(name))).status).toBe(401);
    }
    expect(changes()).toEqual([]);
  });

  test('that is stolen lies as long as it is used, and mutes no agent', async () => {
    const node = rig.node(1);
    const token = await stolenToken(node.tokenFile);
    const since = new Date().toISOString();
    const service = { name: 'ws-daemon', ready: false, since, evidence: 'a lie', digest: 'c' };
    const lie = { ...heartbeat(node.name), services: [service], devices: [], facts: {} };
    expect((await thief.post(token, lie)).status).toBe(200);
    // The agent's next word undoes it, be it that the thief says goodbye for the node, or says the same once more.
    expect((await thief.post(token, { ...lie, sequence: 2, leaving: true })).status).toBe(200);
    for (const sequence of [1, 2]) expect((await thief.post(token, { ...lie, sequence })).status).toBe(200);
    await rig.history.until(node.name, WS_DAEMON_READY, 'true', 30_000);
    await node.kill('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    await node.revive('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true', 30_000);
    expect(rig.history.since(fromMs, WS_DAEMON_READY, rig.node(0).name)).toEqual([]);
  });

  test('that is stolen sends no more than a budget of bytes, and costs next to nothing beyond it', async () => {
    const node = rig.node(1);
    const token = await stolenToken(node.tokenFile);
    const answers: number[] = [];
    for (let sequence = 1; sequence <= 20; sequence += 1) {
      const report = largeReport(node.name, sequence);
      answers.push((await thief.post(token, report)).status);
    }
    expect(answers.filter((status) => status === 200).length).toBeLessThanOrEqual(6);
    expect(answers.filter((status) => status === 429).length).toBeGreaterThanOrEqual(14);
    expect(new Set(answers)).toEqual(new Set([200, 429]));
    expect(rig.history.since(fromMs, WS_DAEMON_READY, rig.node(0).name)).toEqual([]);
  });
});

test('questions to the scheduler extender leave nothing behind, however many, also about pods that do not exist', async () => {
  const node = await rig.addNode({ labels: { 'gitpod.io/workload_workspace_regular': 'true' } });
  await rig.history.until(node.name, WS_DAEMON_READY, 'true', 30_000);
  await rig.history.until(node.name, REGISTRY_FACADE_READY, 'true', 30_000);
  const { scheduler } = (await coordinator.waitForLog('Started')) as unknown as { scheduler: { port: number } };
  const ask = async (): Promise<string[] | null> => {
    const metadata = {
      name: randomUUID(),
      namespace: 'default',
      uid: randomUUID(),
      labels: { component: 'workspace' },
    };
    const question = { Pod: { metadata, spec: { containers: [] } }, NodeNames: [node.name] };
    const { body } = await askExtender(scheduler.port, 'filter', question);
    return (JSON.parse(body) as { NodeNames: string[] | null }).NodeNames;
  };
  await waitFor('the node to be taken', async () => (await ask())?.length === 1);
  for (let round = 0; round < 10; round += 1) {
    const answers = await Promise.all(Array.from({ length: 10 }, ask));
    expect(answers).toEqual(Array.from({ length: 10 }, () => [node.name]));
  }
  expect(await ask()).toEqual([node.name]);
});

describe('a pod of another user', () => {
  test('with the labels of a service does not count beside one that a DaemonSet controls', async () => {
    const { api } = embedded.controlPlane;
    const node = rig.node(2);
    const uid = randomUUID();
    const owners = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ws-daemon', uid, controller: true }];
    await addServicePod(api, node, 'ws-daemon', 'genuine', { owners });
    await forceDelete(api, firstPod(node, 'ws-daemon'));
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
    // It is Ready, something listens at its address, and it sorts first.
    await addServicePod(api, node, 'ws-daemon', 'a-bare-one', { podIP: rig.node(0).podAddress });
    await setPodReady(api, 'default', 'genuine', false);
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    await setPodReady(api, 'default', 'genuine', true);
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
    await node.kill('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    await node.revive('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
    await forceDelete(api, 'a-bare-one');
  });

  test('whose address is link-local is not probed', async () => {
    const { api } = embedded.controlPlane;
    const node = await rig.addNode();
    await rig.history.until(node.name, WS_DAEMON_READY, 'true', 30_000);
    await forceDelete(api, firstPod(node, 'ws-daemon'));
    await addServicePod(api, node, 'ws-daemon', 'metadata', { podIP: '169.254.169.254' });
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    const evidence = async () => probeIn(await shownService(rig, node.name, 'ws-daemon'))?.reason;
    await waitFor('the agent to say why', async () => (await evidence())?.includes('it is link-local'));
  });
});
