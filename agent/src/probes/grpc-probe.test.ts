import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { Server } from 'node:net';
import type { ProbeSpec } from '@rollcall/common/report.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { encodeText } from './protobuf.ts';
import { openLineFor } from './testing/ask-once.ts';
import { ISSUER_CERTIFICATE, SERVER_CHAIN, SERVER_KEY, UNRELATED_CERTIFICATE } from './testing/certificates.ts';
import { createGrpcServer, type GrpcAnswer } from './testing/grpc-server.ts';
import { within } from './testing/limits.ts';
import { closedTarget, createRawServer, listenOnLoopback } from './testing/servers.ts';

const CHECK = '/grpc.health.v1.Health/Check';
const SERVING = Uint8Array.of(8, 1);

/** What the probe says of a server, the address left out. */
async function ask(server: Server, spec: Partial<ProbeSpec> = {}, limitMs = 5000): Promise<string> {
  const running = await listenOnLoopback(server);
  onTestFinished(running.close);
  const line = openLineFor({ kind: 'grpc', ...spec })(() => {});
  onTestFinished(() => line.release());
  const { verdict, evidence } = await line.ask(running, within(limitMs), true);
  return `${verdict}: ${evidence.replace(` 127.0.0.1:${running.port}`, '')}`;
}

function health(answer: GrpcAnswer): Server {
  return createGrpcServer({ [CHECK]: () => answer });
}

describe('a probe of gRPC health', () => {
  it.each<[string, GrpcAnswer]>([
    ['healthy: grpc says SERVING of the server as a whole', SERVING],
    ['soft: grpc says NOT_SERVING of the server as a whole', Uint8Array.of(8, 2)],
    ['soft: grpc says UNKNOWN of the server as a whole', new Uint8Array(0)],
    ['soft: grpc says SERVICE_UNKNOWN of the server as a whole', Uint8Array.of(8, 3)],
    ['soft: grpc says status 9 of the server as a whole', Uint8Array.of(8, 9)],
    ['soft: grpc does not know the server as a whole (NOT_FOUND)', { status: 5 }],
    ['soft: grpc has no grpc.health.v1 (UNIMPLEMENTED)', { status: 12 }],
    ['soft: grpc answered with an error (UNAVAILABLE)', { status: 14 }],
    ['soft: grpc answered with an error (gRPC status 77)', { status: 77 }],
    ['soft: grpc answered with a message that cannot be read', Uint8Array.of(8)],
    [
      'soft: grpc answered with no message of gRPC',
      (stream) => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end('xx');
      },
    ],
    ['soft: grpc closed the connection without an answer', (stream) => stream.session?.destroy()],
  ])('is %s', async (evidence, answer) => {
    expect(await ask(health(answer))).toBe(evidence);
  });

  it('asks for the service that it is told', async () => {
    const server = () =>
      createGrpcServer({
        [CHECK]: (request) => (Buffer.from(encodeText(1, 'a.B')).equals(request) ? SERVING : { status: 5 }),
      });
    expect(await ask(server(), { service: 'a.B' })).toBe('healthy: grpc says SERVING of the service "a.B"');
    expect(await ask(server(), { service: 'a.C' })).toBe('soft: grpc does not know the service "a.C" (NOT_FOUND)');
    expect(await ask(createGrpcServer({}))).toBe('soft: grpc has no grpc.health.v1 (UNIMPLEMENTED)');
  });

  it('gives up on a server that hangs, before it answers and while it does', async () => {
    expect(
      await ask(
        health(() => {}),
        {},
        100,
      ),
    ).toBe('soft: grpc did not answer within 100 ms');
    const half = health((stream) => stream.respond({ ':status': 200, 'content-type': 'application/grpc' }));
    expect(await ask(half, {}, 100)).toBe('soft: grpc did not answer within 100 ms');
    expect(
      await ask(
        createRawServer((socket) => socket.resume()),
        {},
        100,
      ),
    ).toBe('soft: grpc did not answer within 100 ms');
  });

  it('tells other protocols from gRPC', async () => {
    expect(await ask(createHttpServer())).toBe('soft: grpc did not answer in HTTP/2');
    const web = createHttp2Server((_, response) => void response.writeHead(404).end('no'));
    expect(await ask(web)).toBe('soft: grpc answered HTTP status 404, and not in gRPC');
    expect(await ask(createRawServer((socket) => socket.end()))).toBe(
      'soft: grpc closed the connection without an answer',
    );
  });

  it('reads no more than a little of an answer', async () => {
    const server = health((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      const more = () => {
        while (stream.write(Buffer.alloc(16_384)));
        stream.once('drain', more);
      };
      more();
    });
    expect(await ask(server)).toBe('soft: grpc answered with more than 4096 bytes');
  });

  it('has proof when no process listens, and when the connection is reset', async () => {
    const closed = await closedTarget();
    const line = openLineFor({ kind: 'grpc' })(() => {});
    expect(await line.ask(closed, within(5000), true)).toMatchObject({
      verdict: 'hard',
      evidence: `grpc 127.0.0.1:${closed.port} refused the connection twice (ECONNREFUSED)`,
    });
    expect(await ask(createRawServer((socket) => socket.resetAndDestroy()))).toBe(
      'hard: grpc reset the connection twice (ECONNRESET)',
    );
  });

  it.each([7, 'x'.repeat(254)])('is refused with a service that is no name: %j', (service) => {
    expect(() => openLineFor({ kind: 'grpc', service })).toThrow('its service is not valid');
  });
});

describe('a probe of gRPC health over TLS', () => {
  const secured = () => {
    const server = createSecureServer({ key: SERVER_KEY, cert: SERVER_CHAIN });
    server.on('sessionError', () => {}).on('secureConnection', (socket) => socket.on('error', () => {}));
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      stream.on('error', () => {}).resume();
      expect(headers[':scheme']).toBe('https');
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
    });
    return server as unknown as Server;
  };
  const SAYS_SERVING = 'healthy: grpc says SERVING of the server as a whole';

  it.each([
    ['is healthy with any certificate where none is asked for', {}, SAYS_SERVING],
    ['is healthy with one of the CA', { caBundle: ISSUER_CERTIFICATE }, SAYS_SERVING],
    [
      'is not with one of another',
      { caBundle: UNRELATED_CERTIFICATE },
      'soft: grpc failed the probe (UNABLE_TO_GET_ISSUER_CERT_LOCALLY)',
    ],
  ])('%s', async (_what, settings, evidence) => {
    expect(await ask(secured(), { tls: true, ...settings })).toBe(evidence);
  });

  it('is not healthy where the service speaks in clear text, nor in clear text where it speaks TLS', async () => {
    expect(await ask(health(SERVING), { tls: true })).toMatch(/^soft: grpc /);
    expect(await ask(secured(), {})).toMatch(/^soft: grpc /);
  });

  it('asks again over the connection that is kept', async () => {
    const running = await listenOnLoopback(secured());
    onTestFinished(running.close);
    const line = openLineFor({ kind: 'grpc', tls: true })(() => {});
    onTestFinished(() => line.release());
    for (let round = 0; round < 3; round += 1) {
      expect((await line.ask(running, within(5000), false)).verdict).toBe('healthy');
      line.hold(running);
    }
    expect(running.accepted()).toBe(1);
  });

  it('is refused with a CA that is none', () => {
    expect(() => openLineFor({ kind: 'grpc', tls: true, caBundle: 'LS0t' })).toThrow(
      'caBundle contains no certificate',
    );
  });
});
