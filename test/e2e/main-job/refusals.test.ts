import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { PROTOCOL_VERSION } from '@rollcall/common/report.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createServiceAccount, requestToken } from '../../control-plane/cluster.ts';
import { agentServiceAccount, ownNamespace, reportAudience } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';

let embedded: EmbeddedRig;
let rig: Rig;
let tokenOfFirst: string;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 2, coordinators: 2 });
  rig = embedded.rig;
  await rig.allReady();
  tokenOfFirst = await readFile(rig.node(0).tokenFile, 'utf8');
});
afterAll(() => embedded?.stop());

type Answer = {
  status: number;
  headers: Record<string, unknown>;
  problem: { code?: string; field?: string; detail?: string };
};

type Post = { token?: string; body: string; contentType?: string; url?: string };

/** Posts a report to the leader as an agent would, CA and server name verified. */
async function post({ token, body, contentType = 'application/json', url }: Post): Promise<Answer> {
  const target = url ?? (await rig.leader()).reportsUrl;
  const ca = await readFile(rig.caFile);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      new URL('/v1/reports', target),
      {
        method: 'POST',
        ca,
        agent: false,
        servername: `rollcall-coordinator.${ownNamespace}.svc`,
        headers: { 'content-type': contentType, ...(token ? { authorization: `Bearer ${token}` } : {}) },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          const problem = String(response.headers['content-type']).includes('json') ? JSON.parse(text) : {};
          resolve({ status: response.statusCode ?? 0, headers: response.headers, problem });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function report(node: SimulatedNode, change: Record<string, unknown> = {}): string {
  const service = { name: 'ws-daemon', ready: false, since: '2026-01-01T00:00:00Z', evidence: 'made up', digest: 'c' };
  const header = { protocol: PROTOCOL_VERSION, node: node.name, boot: 'b', sequence: 1, digest: 'd' };
  return JSON.stringify({ ...header, services: [service], devices: [], facts: {}, ...change });
}

const agentOf = (node: SimulatedNode) => ({
  namespace: ownNamespace,
  serviceAccount: agentServiceAccount,
  boundPod: node.agentPod ?? { name: '', uid: '' },
});

describe('a report is refused', () => {
  test('with 403 when it is about another node than its token', async () => {
    const { status, problem } = await post({ token: tokenOfFirst, body: report(rig.node(1)) });
    expect(status).toBe(403);
    expect(problem.code).toBe('REPORT_FORBIDDEN');
  });

  test('with 403 when the token is of another account', async () => {
    await createServiceAccount(embedded.controlPlane.api, ownNamespace, 'somebody');
    const request = { namespace: ownNamespace, serviceAccount: 'somebody', audiences: [reportAudience] };
    const token = await requestToken(embedded.controlPlane.api, request);
    expect(await post({ token, body: report(rig.node(0)) })).toMatchObject({ status: 403 });
  });

  test('with 401 when the token is for another audience, is nonsense, or is missing', async () => {
    const token = await requestToken(embedded.controlPlane.api, { ...agentOf(rig.node(0)), audiences: ['other'] });
    for (const each of [token, 'nonsense', undefined]) {
      const answer = await post({ body: report(rig.node(0)), ...(each ? { token: each } : {}) });
      expect(answer).toMatchObject({ status: 401, problem: { code: 'REPORT_UNAUTHENTICATED' } });
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    }
  });

  test('with 413 when it has 1 MiB', async () => {
    const body = report(rig.node(0), { facts: { big: 'x'.repeat(1024 * 1024) } });
    expect(await post({ token: tokenOfFirst, body })).toMatchObject({ status: 413 });
  });

  test.each([
    ['not JSON', '{"node":', 400, undefined],
    ['not an object', '[]', 400, undefined],
  ])('with 400 when it is %s', async (_name, body, status) => {
    expect((await post({ token: tokenOfFirst, body })).status).toBe(status);
  });

  test.each([
    [{ sequence: -1 }, 'sequence'],
    [
      { services: [{ name: 'ws-daemon', ready: 'yes', since: '2026-01-01T00:00:00Z', evidence: '' }] },
      'services[0].ready',
    ],
    [{ services: [{ name: 'ws-daemon', ready: true, since: 'yesterday', evidence: '' }] }, 'services[0].since'],
  ])('with 422 and the name of the field: %j', async (change, field) => {
    const answer = await post({ token: tokenOfFirst, body: report(rig.node(0), change) });
    expect(answer).toMatchObject({ status: 422, problem: { field } });
  });

  test('with 415 when it is of another type', async () => {
    expect(await post({ token: tokenOfFirst, body: report(rig.node(0)), contentType: 'text/plain' })).toMatchObject({
      status: 415,
    });
  });

  test('with 429 and a time to wait when one node sends very many', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => post({ token: tokenOfFirst, body: report(rig.node(0), { boot: 'c' }) })),
    );
    const throttled = answers.find(({ status }) => status === 429);
    expect(throttled?.headers['retry-after']).toMatch(/^\d+$/);
  });
});

test('a standby sends the agent on to the leader', async () => {
  const leader = await rig.leader();
  const standby = rig.coordinators.find((coordinator) => coordinator !== leader);
  const answer = await post({ token: tokenOfFirst, body: report(rig.node(0)), url: standby?.reportsUrl ?? '' });
  expect(answer.status).toBe(307);
  expect(answer.headers['location']).toBe(`${leader.reportsUrl}/v1/reports`);
});

test('a token is good for nothing soon after its pod was deleted', async () => {
  const node = rig.node(1);
  const token = await readFile(node.tokenFile, 'utf8');
  expect((await post({ token, body: report(node, { boot: 'old', sequence: 0 }) })).status).toBe(200);
  await embedded.controlPlane.api.delete(`/api/v1/namespaces/${ownNamespace}/pods/${node.agentPod?.name}`);
  const refused = async () =>
    [401, 403].includes((await post({ token, body: report(node, { boot: 'old', sequence: 0 }) })).status);
  // The API server itself keeps a verdict for up to 10 s.
  await waitFor('the token to be refused', refused, { timeoutMs: 15_000, everyMs: 250 });
});

test('through all of it the coordinator goes on working', async () => {
  const node = await rig.addNode();
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  await node.kill('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined);
  expect((await (await rig.leader()).get('/healthz')).status).toBe(200);
});
