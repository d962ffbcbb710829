import { Agent } from 'node:http';
import { connect } from 'node:net';
import { PROTOCOL_VERSION } from '@rollcall/common/report.ts';
import { describe, expect, it, vi } from 'vitest';
import { unavailable } from './report-refusal.ts';
import { POD, reportsServer, sample, send, wire } from './reports-server.test-fixtures.ts';

const heartbeat = { node: 'n1', boot: 'b', sequence: 1, digest: 'd' };
const service = { name: 'ws-daemon', ready: true, since: '2026-01-01T00:00:00Z', evidence: 'connected', digest: 'c1' };
const full = { ...heartbeat, services: [service], devices: [], facts: {} };

function rawHead(extra: string, line = 'POST /v1/reports HTTP/1.1'): string {
  return `${line}\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n${extra}\r\n`;
}

describe('a report that is taken', () => {
  it('is handed on with who sent it, and answered with the reply', async () => {
    const { port, accepted, registry } = await reportsServer();
    const answer = await send(port, full, { headers: { 'content-type': 'application/json; charset=UTF-8' } });
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(answer.body)).toEqual({ nextReportSeconds: 10 });
    expect(accepted).toEqual([
      { report: full, sender: { node: 'n1', pod: POD, nodeUid: 'uid-1', issuedAtSeconds: 5 } },
    ]);
    expect(await sample(registry, 'rollcall_coordinator_reports_total{result="full"}')).toBe(1);
    expect(await sample(registry, 'rollcall_coordinator_report_duration_seconds_count')).toBe(1);
  });

  it.each([
    ['heartbeat', 'heartbeat'],
    ['unknown-digest', 'heartbeat'],
    ['leaving', 'leaving'],
    ['ignored', 'ignored'],
    ['beside', 'ignored'],
  ] as const)('is counted when its result is %s', async (session, result) => {
    const { port, surroundings, registry } = await reportsServer();
    surroundings.accept = () => ({ result: session, reply: { nextReportSeconds: 3 } });
    expect(await send(port, heartbeat)).toMatchObject({ status: 200 });
    expect(await sample(registry, `rollcall_coordinator_reports_total{result="${result}"}`)).toBe(1);
  });

  it('is refused with the reason when the agent speaks another version of the protocol', async () => {
    const { port, accepted } = await reportsServer();
    for (const protocol of [null, PROTOCOL_VERSION + 1, `${PROTOCOL_VERSION}`]) {
      const { status, body } = await send(port, { ...full, protocol });
      expect([status, JSON.parse(body)]).toMatchObject([
        422,
        { field: 'protocol', detail: 'protocol must be 1: run agents and coordinators of the same release' },
      ]);
    }
    expect(accepted).toEqual([]);
  });

  it('is taken by the path alone, in the origin form and in the absolute form', async () => {
    const { port, accepted } = await reportsServer();
    const paths = ['/v1/reports?x=1', 'http://elsewhere/v1/reports', 'https://elsewhere:1/v1/reports'];
    for (const path of paths) expect(await send(port, full, { path })).toMatchObject({ status: 200 });
    expect(accepted).toHaveLength(paths.length);
  });

  it('may come in pieces', async () => {
    const { port, accepted } = await reportsServer();
    const text = wire(full);
    const pieces = [text.slice(0, 10), text.slice(10)];
    const socket = connect(port, '127.0.0.1');
    const answered = vi.fn();
    socket.on('data', answered);
    socket.write(rawHead(`Content-Length: ${text.length}\r\n`));
    for (const [index, piece] of pieces.entries()) {
      socket.write(piece);
      if (index === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await vi.waitFor(() => expect(answered).toHaveBeenCalledTimes(1));
    socket.destroy();
    expect(accepted.map(({ report }) => report)).toEqual([full]);
  });
});

describe('a request that is refused', () => {
  const cases: [string, number, string, Parameters<typeof send>[1], Parameters<typeof send>[2]][] = [
    ['another path', 404, 'REPORT_INVALID', heartbeat, { path: '/v1/report' }],
    ['another path in the absolute form', 404, 'REPORT_INVALID', heartbeat, { path: 'http://elsewhere/v1/report' }],
    ['no path', 404, 'REPORT_INVALID', heartbeat, { path: '*' }],
    ['another method', 405, 'REPORT_INVALID', '', { method: 'GET' }],
    ['no token', 401, 'REPORT_UNAUTHENTICATED', heartbeat, { headers: { authorization: undefined } }],
    ['a garbled token', 401, 'REPORT_UNAUTHENTICATED', heartbeat, { headers: { authorization: 'Bearer a b' } }],
    ['an unknown token', 401, 'REPORT_UNAUTHENTICATED', heartbeat, { headers: { authorization: 'Bearer bad' } }],
    ['the token of a stranger', 403, 'REPORT_FORBIDDEN', heartbeat, { headers: { authorization: 'Bearer stranger' } }],
    ['another content type', 415, 'REPORT_INVALID', heartbeat, { headers: { 'content-type': 'text/plain' } }],
    ['no content type', 415, 'REPORT_INVALID', heartbeat, { headers: { 'content-type': undefined } }],
    [
      'another charset',
      415,
      'REPORT_INVALID',
      heartbeat,
      { headers: { 'content-type': 'application/json;charset=utf-16' } },
    ],
    ['a compressed body', 415, 'REPORT_INVALID', heartbeat, { headers: { 'content-encoding': 'gzip' } }],
    ['an empty body', 400, 'REPORT_INVALID', '', {}],
    ['a body that is not JSON', 400, 'REPORT_INVALID', '{"node":', {}],
    ['a body that is not an object', 400, 'REPORT_INVALID', '[]', {}],
    ['a body that is null', 400, 'REPORT_INVALID', 'null', {}],
    ['a body that is not UTF-8', 400, 'REPORT_INVALID', Buffer.from('{"node":"\xff"}', 'latin1'), {}],
    ['a deeply nested body', 400, 'REPORT_INVALID', '['.repeat(100_000), {}],
  ];

  it.each(cases)('because of %s gets %i', async (_what, status, code, body, options) => {
    const { port, accepted, registry } = await reportsServer();
    const answer = await send(port, body, options);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(answer.body)).toEqual({
      type: 'about:blank',
      title: expect.any(String),
      status,
      detail: expect.stringMatching(/^[A-Z].{10}/),
      code,
    });
    expect(accepted).toEqual([]);
    expect(await sample(registry, `rollcall_coordinator_reports_total{result="${status}"}`)).toBe(1);
  });

  it('learns which method is allowed', async () => {
    const { port } = await reportsServer();
    for (const method of ['GET', 'PUT', 'OPTIONS', 'DELETE']) {
      expect(await send(port, '', { method })).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    }
  });

  it('is challenged for a bearer token on 401', async () => {
    const { port } = await reportsServer();
    const without = await send(port, heartbeat, { headers: { authorization: undefined } });
    expect(without.headers['www-authenticate']).toBe('Bearer realm="rollcall"');
    const bad = await send(port, heartbeat, { headers: { authorization: 'Bearer bad' } });
    expect(bad.headers['www-authenticate']).toBe('Bearer realm="rollcall", error="invalid_token"');
  });

  it('gets 422 with the field when it names no node', async () => {
    const { port } = await reportsServer();
    for (const body of [{}, { node: ['n1'] }]) {
      const answer = await send(port, body);
      expect(answer.status).toBe(422);
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'REPORT_INVALID', field: 'node' });
    }
  });

  it('gets 403 when the report is of another node, before the rest is looked at', async () => {
    const { port } = await reportsServer();
    for (const body of [
      { ...heartbeat, node: 'n2' },
      { node: 'n2', services: 'nonsense' },
    ]) {
      const answer = await send(port, body);
      expect(answer.status).toBe(403);
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'REPORT_FORBIDDEN', field: 'node' });
    }
  });

  it('is taken when the node was made anew under the pod that the token is bound to', async () => {
    const { port, surroundings, accepted } = await reportsServer();
    surroundings.nodes.set('n1', 'uid-2');
    expect(await send(port, heartbeat)).toMatchObject({ status: 200 });
    expect(accepted[0]?.sender.nodeUid).toBe('uid-2');
  });

  it('gets 503 for a node that is not watched yet, and is taken as soon as it is', async () => {
    const { port, surroundings } = await reportsServer();
    surroundings.nodes.clear();
    const answer = await send(port, heartbeat);
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'REPORT_UNAVAILABLE' });
    surroundings.nodes.set('n1', 'uid-1');
    expect(await send(port, heartbeat)).toMatchObject({ status: 200 });
  });

  it('gets 422 with the field that is wrong', async () => {
    const { port, registry } = await reportsServer();
    const answer = await send(port, { ...full, services: [{ ...service, ready: 'yes' }] });
    expect(answer.status).toBe(422);
    expect(JSON.parse(answer.body)).toMatchObject({
      title: 'Unprocessable Content',
      code: 'REPORT_INVALID',
      field: 'services[0].ready',
      detail: 'services[0].ready must be true or false',
    });
    expect(await sample(registry, 'rollcall_coordinator_reports_total{result="422"}')).toBe(1);
  });

  it('gets 503 while the caches are not synced', async () => {
    const { port, surroundings } = await reportsServer();
    surroundings.synced = false;
    expect(await send(port, heartbeat)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  });

  it('gets 500 when something breaks inside, and the next one is served', async () => {
    const { port, surroundings } = await reportsServer();
    const { accept } = surroundings;
    surroundings.accept = () => {
      throw new TypeError('secret detail');
    };
    const answer = await send(port, heartbeat);
    expect(answer.status).toBe(500);
    expect(answer.body).not.toContain('secret');
    surroundings.accept = accept;
    expect(await send(port, heartbeat)).toMatchObject({ status: 200 });
  });

  it('ends its connection when its answer breaks after the head, so that no client waits for the rest', async () => {
    const { port, server } = await reportsServer();
    server.prependOnceListener('request', (_request, response) => {
      response.end = () => {
        throw new Error('on purpose');
      };
    });
    await expect(send(port, heartbeat)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await send(port, heartbeat)).toMatchObject({ status: 200 });
  });

  it('keeps its connection, so that the next one need not open another', async () => {
    const { port } = await reportsServer();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await send(port, heartbeat, { agent, path: '/other' })).toMatchObject({ status: 404 });
    expect(await send(port, heartbeat, { agent })).toMatchObject({ status: 200 });
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
    agent.destroy();
  });
});

describe('a standby', () => {
  it('sends agents to the leader, without asking who they are', async () => {
    const { port, surroundings, registry } = await reportsServer();
    surroundings.role = { leading: false, leaderUrl: 'https://10.0.0.7:8443/' };
    surroundings.synced = false;
    const answer = await send(port, heartbeat, { headers: { authorization: undefined } });
    expect(answer).toMatchObject({ status: 307, headers: { location: 'https://10.0.0.7:8443/v1/reports' }, body: '' });
    expect(await sample(registry, 'rollcall_coordinator_reports_total{result="redirected"}')).toBe(1);
  });

  it('says 503 while it knows no leader', async () => {
    const { port, surroundings } = await reportsServer();
    surroundings.role = { leading: false };
    expect(await send(port, heartbeat)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  });

  it('that lost the lead while a body was on its way does not take the report', async () => {
    const { port, surroundings, reviewed, accepted } = await reportsServer();
    const text = wire(heartbeat);
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.write(rawHead(`Content-Length: ${text.length}\r\n`));
    socket.write(text.slice(0, 5));
    await vi.waitFor(() => expect(reviewed).toHaveLength(1));
    surroundings.role = { leading: false, leaderUrl: 'https://other:8443' };
    socket.write(text.slice(5));
    await vi.waitFor(() => expect(answer).toMatch(/^HTTP\/1.1 307 /));
    socket.destroy();
    expect(accepted).toEqual([]);
  });
});

describe('an API server that gives no answer', () => {
  it('makes reports unavailable, not refused', async () => {
    const { port, surroundings } = await reportsServer();
    surroundings.identities.get = () => Promise.reject(unavailable('The API server could not be asked')) as never;
    expect(await send(port, heartbeat)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  });
});
