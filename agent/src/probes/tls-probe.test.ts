import { createServer, type TlsOptions } from 'node:tls';
import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT_CERTIFICATE, SERVER_CHAIN, SERVER_KEY } from './testing/certificates.ts';
import { startChildService } from './testing/child-service.ts';
import { within } from './testing/limits.ts';
import { closedTarget, createRawServer, listenOnLoopback } from './testing/servers.ts';
import { createTlsProbe } from './tls-probe.ts';

const probe = createTlsProbe(systemClock);

async function probeTlsServer(options: TlsOptions): Promise<string> {
  const tls = createServer({ key: SERVER_KEY, cert: SERVER_CHAIN, ...options }).on('tlsClientError', () => {});
  const server = await listenOnLoopback(tls);
  onTestFinished(server.close);
  const { verdict, evidence } = await probe(server, within(5000));
  expect(evidence).toContain(`tls 127.0.0.1:${server.port} `);
  return `${verdict}: ${evidence.split(' ').slice(2).join(' ')}`;
}

describe('createTlsProbe', () => {
  it.each<[string, TlsOptions]>([
    ['TLS 1.3', { minVersion: 'TLSv1.3' }],
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
    ['TLS 1.3 on another curve than the one offered', { minVersion: 'TLSv1.3', ecdhCurve: 'P-256' }],
    ['client certificates', { requestCert: true, rejectUnauthorized: true, ca: ROOT_CERTIFICATE }],
    ['HTTP/2 by ALPN', { ALPNProtocols: ['h2'] }],
  ])('is healthy when a server of %s says hello', async (_, options) => {
    expect(await probeTlsServer(options)).toBe('healthy: answered with a ServerHello');
  });

  it.each<[string, TlsOptions]>([
    ['TLS_AES_128_GCM_SHA256', { minVersion: 'TLSv1.3' }],
    ['TLS_AES_256_GCM_SHA384', { minVersion: 'TLSv1.3' }],
    ['TLS_CHACHA20_POLY1305_SHA256', { minVersion: 'TLSv1.3' }],
    ['ECDHE-ECDSA-AES128-GCM-SHA256', { maxVersion: 'TLSv1.2' }],
    ['ECDHE-ECDSA-AES256-GCM-SHA384', { maxVersion: 'TLSv1.2' }],
    ['ECDHE-ECDSA-CHACHA20-POLY1305', { maxVersion: 'TLSv1.2' }],
  ])('is understood by a server that takes %s alone', async (ciphers, options) => {
    expect(await probeTlsServer({ ...options, ciphers })).toBe('healthy: answered with a ServerHello');
  });

  it.each<[string, TlsOptions]>([
    ['X25519', { ecdhCurve: 'X25519' }],
    ['P-256 in TLS 1.2', { ecdhCurve: 'P-256', maxVersion: 'TLSv1.2' }],
    ['ECDSA with SHA-256', { sigalgs: 'ecdsa_secp256r1_sha256' }],
  ])('is understood by a server that takes %s alone', async (_, options) => {
    expect(await probeTlsServer(options)).toBe('healthy: answered with a ServerHello');
  });

  it('is healthy when the server refuses in TLS, as only a live process can', async () => {
    expect(await probeTlsServer({ ciphers: 'DHE-RSA-AES256-SHA256', maxVersion: 'TLSv1.2' })).toBe(
      'healthy: answered with a TLS alert',
    );
  });

  it.each([
    ['HTTP', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['TLS, but not in turn', Buffer.from([22, 3, 3, 0, 4, 0, 0, 0, 0])],
  ])('is soft when the server speaks %s', async (_, answer) => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.end(answer)));
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'soft',
      evidence: `tls 127.0.0.1:${server.port} did not answer in TLS`,
    });
  });

  it('is soft when the server hangs up in good order', async () => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.once('data', () => socket.end())));
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'soft',
      evidence: `tls 127.0.0.1:${server.port} closed the connection without an answer`,
    });
    expect(server.accepted()).toBe(2);
  });

  it('has proof when the connection is reset twice, and when no process listens', async () => {
    const server = await listenOnLoopback(
      createRawServer((socket) => socket.once('data', () => socket.resetAndDestroy())),
    );
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'hard',
      evidence: `tls 127.0.0.1:${server.port} reset the connection twice (ECONNRESET)`,
    });
    expect(await probe(await closedTarget(), within(5000))).toMatchObject({ verdict: 'hard' });
  });

  it('sees a process that hangs, and that it lives again', async () => {
    const service = await startChildService('tls');
    onTestFinished(service.end);
    expect(await probe(service, within(5000))).toMatchObject({ verdict: 'healthy' });
    service.signal('SIGSTOP');
    expect(await probe(service, within(200))).toMatchObject({
      verdict: 'soft',
      evidence: `tls 127.0.0.1:${service.port} did not answer within 200 ms`,
    });
    service.signal('SIGCONT');
    expect(await probe(service, within(5000))).toMatchObject({ verdict: 'healthy' });
  });
});
