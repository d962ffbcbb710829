import { execFile } from 'node:child_process';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { askOnce } from './testing/ask-once.ts';
import {
  ISSUER_CERTIFICATE,
  ROOT_CERTIFICATE,
  SERVER_CHAIN,
  SERVER_KEY,
  UNRELATED_CERTIFICATE,
} from './testing/certificates.ts';
import { startChildService } from './testing/child-service.ts';
import { eventually, within } from './testing/limits.ts';
import {
  closedTarget,
  createRawServer,
  createService,
  type ListenOptions,
  listenOnLoopback,
  type RunningServer,
} from './testing/servers.ts';

/** As a coordinator sends it for registry-facade. */
const REGISTRY_FACADE = {
  kind: 'https',
  path: '/v2/remote/not-a-valid-image/manifests/latest',
  headers: { accept: 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json' },
  expectedStatuses: ['404'],
};
const probe = askOnce(REGISTRY_FACADE);

async function serveHttps(listener: RequestListener, options: ListenOptions = {}): Promise<RunningServer> {
  const https = createHttpsServer({ key: SERVER_KEY, cert: SERVER_CHAIN }, listener);
  const server = await listenOnLoopback(
    https.on('tlsClientError', () => {}),
    options,
  );
  onTestFinished(server.close);
  return server;
}

const answer404: RequestListener = (_request, response) => void response.writeHead(404).end();

describe('the probe of registry-facade', () => {
  it('is healthy on 404, and closes the connection', async () => {
    const server = await serveHttps(answer404);
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'healthy',
      evidence: `https 127.0.0.1:${server.port} answered 404 as expected`,
    });
    await eventually(() => expect([server.accepted(), server.connections.size]).toEqual([1, 0]));
  });

  it('reaches IPv6 addresses', async () => {
    const server = await serveHttps(answer404, { host: '::1' });
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'healthy',
      evidence: `https [::1]:${server.port} answered 404 as expected`,
    });
  });

  it('asks for the manifest of an image that cannot exist', async () => {
    const requests: IncomingMessage[] = [];
    const server = await serveHttps((request, response) => {
      requests.push(request);
      response.writeHead(404).end();
    });
    await probe(server, within(5000));
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ method: 'GET', url: '/v2/remote/not-a-valid-image/manifests/latest' });
    expect(requests[0]?.headers).toMatchObject({
      accept: 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json',
      host: `127.0.0.1:${server.port}`,
    });
  });

  it.each([200, 204, 401, 403, 429, 500, 503])('is soft on %i', async (status) => {
    const server = await serveHttps((_request, response) => void response.writeHead(status).end());
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'soft',
      evidence: `https 127.0.0.1:${server.port} answered ${status}, 404 was expected`,
    });
  });

  it('does not follow redirects, not even to a place that answers 404', async () => {
    const server = await serveHttps((request, response) => {
      if (request.url === '/elsewhere') response.writeHead(404).end();
      else response.writeHead(307, { location: '/elsewhere' }).end();
    });
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'soft',
      evidence: `https 127.0.0.1:${server.port} answered 307, 404 was expected`,
    });
  });

  it('does not wait for the body, however slow', async () => {
    const server = await serveHttps((_request, response) => void response.writeHead(404).write('{'));
    expect(await probe(server, within(5000))).toMatchObject({ verdict: 'healthy' });
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('has proof when no process listens', async () => {
    const target = await closedTarget();
    expect(await probe(target, within(5000))).toMatchObject({
      verdict: 'hard',
      evidence: `https 127.0.0.1:${target.port} refused the connection twice (ECONNREFUSED)`,
    });
  });

  it('has proof when the connection is reset twice during the handshake', async () => {
    const server = await listenOnLoopback(
      createRawServer((socket) => socket.once('data', () => socket.resetAndDestroy())),
    );
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'hard',
      evidence: `https 127.0.0.1:${server.port} reset the connection twice (ECONNRESET)`,
    });
    expect(server.accepted()).toBe(2);
  });

  it('has proof when the connection is reset twice instead of an answer', async () => {
    const server = await serveHttps(() => {
      for (const socket of server.connections) socket.resetAndDestroy();
    });
    expect(await probe(server, within(5000))).toMatchObject({ verdict: 'hard' });
    expect(server.accepted()).toBe(2);
  });

  it('is soft when the server hangs up instead of answering', async () => {
    const server = await serveHttps((request) => void request.socket.end());
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'soft',
      evidence: `https 127.0.0.1:${server.port} closed the connection without an answer`,
    });
  });

  it('is soft when the server does not speak TLS, with the same evidence every time', async () => {
    const server = await listenOnLoopback(createHttpServer(answer404));
    onTestFinished(server.close);
    const first = await probe(server, within(5000));
    const second = await probe(server, within(5000));
    expect(first).toMatchObject({ verdict: 'soft' });
    expect(second.evidence).toBe(first.evidence);
  });

  it('bounds the whole of it by the time limit', async () => {
    const server = await serveHttps(() => {});
    expect(await probe(server, within(200))).toMatchObject({
      verdict: 'soft',
      evidence: `https 127.0.0.1:${server.port} did not answer within 200 ms`,
    });
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('sees a process that hangs', async () => {
    const service = await startChildService('https');
    onTestFinished(service.end);
    expect(await probe(service, within(5000))).toMatchObject({ verdict: 'healthy' });
    service.signal('SIGSTOP');
    expect(await probe(service, within(200))).toMatchObject({ verdict: 'soft' });
  });

  it('uses no proxy, whatever the environment says', async () => {
    const server = await serveHttps(answer404);
    const proxy = await listenOnLoopback(createRawServer((socket) => socket.end()));
    onTestFinished(proxy.close);
    const module = fileURLToPath(new URL('./testing/ask-once.ts', import.meta.url));
    const script = `
      const { askOnce } = await import(${JSON.stringify(module)});
      const probe = askOnce({ kind: 'https', expectedStatuses: ['404'] });
      const result = await probe({ host: '127.0.0.1', port: ${server.port} }, AbortSignal.timeout(5000));
      process.stdout.write(result.verdict);`;
    const url = `http://127.0.0.1:${proxy.port}`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: url, https_proxy: url, HTTP_PROXY: url },
    });
    expect(stdout).toBe('healthy');
    expect([server.accepted(), proxy.accepted()]).toEqual([1, 0]);
  });
});

describe('the probe of registry-facade with a CA', () => {
  const withCa = (caBundle: string) => askOnce({ ...REGISTRY_FACADE, caBundle });

  it.each([
    ['the root of the chain', ROOT_CERTIFICATE],
    ['an intermediate CA of the chain', ISSUER_CERTIFICATE],
    ['the right one among others', `${UNRELATED_CERTIFICATE}${ROOT_CERTIFICATE}`],
  ])('trusts a certificate for another name when the CA is %s', async (_, pem) => {
    const server = await listenOnLoopback(createService('https'));
    onTestFinished(server.close);
    expect(await withCa(pem)(server, within(5000))).toMatchObject({ verdict: 'healthy' });
  });

  it('is soft when the CA is an unrelated one', async () => {
    const requests: string[] = [];
    const server = await serveHttps((request, response) => {
      requests.push(request.url ?? '');
      response.writeHead(404).end();
    });
    const result = await withCa(UNRELATED_CERTIFICATE)(server, within(5000));
    expect(result.verdict).toBe('soft');
    expect(result.evidence).toMatch(/^https 127\.0\.0\.1:\d+ failed the probe \([A-Z_]+\)$/);
    expect(requests).toEqual([]);
  });
});
