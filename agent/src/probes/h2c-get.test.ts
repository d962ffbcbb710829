import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLineFor } from './testing/ask-once.ts';
import { eventually, within } from './testing/limits.ts';
import { createService, listenOnLoopback } from './testing/servers.ts';

function serving(answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void): Http2Server {
  const server = createServer();
  server.on('sessionError', () => {});
  return server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {}).resume();
    answer(stream, headers);
  });
}

async function watched(server: ReturnType<typeof createService>, settings: object = {}) {
  const running = await listenOnLoopback(server);
  onTestFinished(running.close);
  let lost = 0;
  const line = openLineFor({ kind: 'http', h2c: true, ...settings })(() => {
    lost += 1;
  });
  onTestFinished(() => line.release());
  const ask = async () => {
    const { verdict, evidence } = await line.ask(running, within(5000), false);
    return `${verdict}: ${evidence.replace(` 127.0.0.1:${running.port}`, '')}`;
  };
  return { ask, running, hold: () => line.hold(running), lost: () => lost };
}

describe('a GET by HTTP/2 in clear text', () => {
  it('asks for the path with the headers, Host as the authority, those of a connection left out', async () => {
    let asked: IncomingHttpHeaders = {};
    const { ask } = await watched(
      serving((stream, headers) => {
        asked = headers;
        stream.respond({ ':status': 204 }, { endStream: true });
      }),
      { path: '/ready?a=b', headers: { 'X-Probe': '1', Connection: 'close', Host: 'x' }, expectedStatuses: ['204'] },
    );
    expect(await ask()).toBe('healthy: h2c answered 204 as expected');
    expect(asked).toMatchObject({
      ...{ ':method': 'GET', ':scheme': 'http', ':path': '/ready?a=b', 'x-probe': '1', 'user-agent': 'rollcall-agent' },
      ':authority': 'x',
    });
    expect(asked).not.toHaveProperty('connection');
  });

  it('keeps the connection of an answer without a body, and hears when it is closed', async () => {
    const { ask, running, hold, lost } = await watched(
      serving((stream) => stream.respond({ ':status': 200 }, { endStream: true })),
    );
    for (let round = 0; round < 3; round += 1) {
      expect(await ask()).toBe('healthy: h2c answered 200 as expected');
      hold();
    }
    expect(running.accepted()).toBe(1);
    for (const connection of running.connections) connection.destroy();
    await eventually(() => expect(lost()).toBe(1));
  });

  it('reads no body, however large, and takes the end of that connection for no sign', async () => {
    const { ask, hold, lost } = await watched(
      serving((stream) => {
        stream.respond({ ':status': 503 });
        stream.end(Buffer.alloc(1_000_000));
      }),
    );
    for (let round = 0; round < 3; round += 1) expect(await ask()).toBe('soft: h2c answered 503, 200 was expected');
    hold();
    expect(lost()).toBe(0);
  });

  it.each([
    ['http', 'soft: h2c did not answer in HTTP/2'],
    ['tls', /^soft: h2c /],
  ] as const)('is not healthy where a service speaks %s', async (kind, evidence) => {
    const { ask } = await watched(createService(kind));
    expect(await ask()).toMatch(evidence);
  });

  it('is refused with more headers than a frame holds', () => {
    const headers = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`x-${index}`, 'x'.repeat(1000)]));
    expect(() => openLineFor({ kind: 'http', h2c: true, headers })).toThrow(/^its headers have 16\d\d\d bytes/);
  });
});
