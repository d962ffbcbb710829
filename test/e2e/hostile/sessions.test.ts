import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FullReport } from '@rollcall/common/report.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPod } from '../../control-plane/cluster.ts';
import { agentServiceAccount, ownNamespace, requestAgentToken } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { stolenToken, Thief } from '../../rig/attacks.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { probeIn, shownService } from '../gitpod/service-pods.ts';

let embedded: EmbeddedRig;
let rig: Rig;
let coordinator: Coordinator;
let node: SimulatedNode;
let thief: Thief;
/** The boot id of the agent, which only an eavesdropper can know. */
let boot: string;
/** What the agents and the coordinator logged. */
const logged: string[] = [];

/** Takes the first report of an agent and answers 503, so that the agent goes on to the next URL. */
async function eavesdrop(): Promise<{ url: string; boots: string[]; close: () => void }> {
  const boots: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    boots.push((JSON.parse(text) as FullReport).boot);
    response.writeHead(503).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, boots, close: () => server.close() };
}

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 0,
    coordinatorArgs: ['--verbose'],
    agentArgs: ['--verbose'],
    onCoordinatorLog: (_name, line) => logged.push(JSON.stringify(line)),
  });
  rig = embedded.rig;
  coordinator = await rig.leader();
  thief = new Thief(coordinator.reportsUrl);
  const ear = await eavesdrop();
  node = await rig.addNode({
    coordinatorUrls: [ear.url, coordinator.reportsUrl],
    onAgentLog: (line) => logged.push(JSON.stringify(line)),
  });
  await rig.allReady(60_000);
  ear.close();
  boot = ear.boots[0] ?? '';
  expect(boot).not.toBe('');
});

afterAll(async () => {
  thief?.close();
  await embedded?.stop();
});

/** Waits until the coordinator uses the reports of the real agent, and no lie. */
async function untilHeard(): Promise<void> {
  const evidence = async () => probeIn(await shownService(rig, node.name, 'ws-daemon'))?.reason;
  await waitFor('the agent to be heard', async () => (await evidence())?.startsWith('tcp '), { timeoutMs: 15_000 });
}

/** A killed service loses its label. Not for every test: what fails again and again is damped. */
async function worksOn(): Promise<void> {
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  await node.kill('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined);
  await node.revive('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
}

const heartbeat = (sequence: number, id = boot) => ({ node: node.name, boot: id, sequence, digest: 'd' });

function lie(sequence: number, id = boot, ready = true) {
  const service = { name: 'ws-daemon', ready, since: new Date().toISOString(), evidence: 'a lie', digest: 'c' };
  return { ...heartbeat(sequence, id), services: [service], devices: [], facts: {} };
}

async function post(report: object): Promise<{ newSession?: boolean }> {
  const { status, body } = await thief.post(await stolenToken(node.tokenFile), report);
  expect(status).toBe(200);
  return JSON.parse(body) as { newSession?: boolean };
}

test('the largest sequence, sent with the token and the boot id of an agent, does not count and mutes no agent', async () => {
  expect(await post(lie(Number.MAX_SAFE_INTEGER))).toMatchObject({ newSession: true });
  await untilHeard();
  await worksOn();
});

test('an agent whose sequence was used up begins a new session, and a killed service loses its label', async () => {
  // A step that an agent could make as well, and a lie that would hide the death of the service.
  await post(lie(90_000));
  await untilHeard();
  await worksOn();
  await post(lie(90_001));
  await untilHeard();
});

test('an agent is heard again after another client began a session in the name of its pod', async () => {
  await post(lie(1, 'a session of the thief'));
  await untilHeard();
});

test('the boot id of one pod does not reach the session of another', async () => {
  const { api } = embedded.controlPlane;
  const created = await createPod(api, {
    namespace: ownNamespace,
    name: 'another-agent',
    nodeName: node.name,
    serviceAccount: agentServiceAccount,
  });
  const token = await requestAgentToken(api, { name: 'another-agent', uid: created.metadata.uid ?? '' });
  const other = new Thief(coordinator.reportsUrl, 1);
  await waitFor('the pod to be seen', async () => (await other.post(token, heartbeat(1, 'x'))).status === 200);
  const { body } = await other.post(token, lie(1));
  // New in its own pod, whatever sequence the same id has in the other.
  expect(JSON.parse(body)).not.toHaveProperty('newSession');
  other.close();
  await api.delete(`/api/v1/namespaces/${ownNamespace}/pods/another-agent`, { gracePeriodSeconds: 0 });
  await untilHeard();
});

/** All that the programs say: their logs, metrics, documents and objects. */
async function everythingSaid(): Promise<string[]> {
  return [
    ...logged,
    (await coordinator.get('/metrics')).body,
    ...(await Promise.all(
      [`/v1/nodes/${node.name}`, '/v1/nodes', '/v1/services', '/v1/audit', '/v1/plan'].map(async (path) =>
        JSON.stringify(await coordinator.console(path)),
      ),
    )),
    JSON.stringify(await embedded.controlPlane.api.get('/api/v1/events')),
    JSON.stringify(await embedded.controlPlane.api.get(`/api/v1/nodes/${node.name}`)),
  ];
}

test('the boot id of an agent stands nowhere: not in logs, metrics, documents of the console, or Events', async () => {
  expect((await everythingSaid()).filter((text) => text.includes(boot))).toEqual([]);
});

test('a token stands nowhere, whether it is taken or refused', async () => {
  const token = await stolenToken(node.tokenFile);
  const [head = '', claims = '', signature = ''] = token.split('.');
  await post(lie(1, 'a session of the thief'));
  for (const refused of [`${head}.${claims}.${'A'.repeat(signature.length)}`, `${token}=`, claims]) {
    expect((await thief.post(refused, lie(2, 'a session of the thief'))).status).toBe(401);
  }
  await untilHeard();
  expect(logged.some((line) => line.includes('Refused a report'))).toBe(true);
  const secrets = [claims, signature];
  expect((await everythingSaid()).filter((text) => secrets.some((secret) => text.includes(secret)))).toEqual([]);
});
