import { webcrypto } from 'node:crypto';
import { type RequestOptions, request } from 'node:https';
import { systemClock } from '@rollcall/common/clock.ts';
import { afterEach, expect, test } from 'vitest';
import { node } from '../scheduler/scheduler.test-fixtures.ts';
import { createAuthority, issueLeaf } from '../tls/certificate-authority.ts';
import { CertificateHolder, type KeyPair } from '../tls/certificate-holder.ts';
import { ask, FILTER, startExtender } from './extender.test-fixtures.ts';
import { createForwardResponder } from './forward.ts';

const SERVER_NAME = 'rollcall-coordinator.rollcall.svc';
const KNOWN = new Map([['n', node({ name: 'n' })]]);
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function newServer(options: { clientCas?: string[] } = {}) {
  const authority = await createAuthority({ nowMs: systemClock.now() });
  const certificates = new CertificateHolder();
  const rotate = async () =>
    certificates.set(await issueLeaf(authority, { names: [SERVER_NAME], nowMs: systemClock.now() }));
  await rotate();
  const extender = await startExtender(KNOWN, { certificates, ...options });
  stops.push(extender.stop);
  return { ...extender, ca: authority.cert, rotate };
}

/** The status of an answer; rejects where the server, or the client, does not accept the other. */
function status(port: number, options: RequestOptions): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: '127.0.0.1', port, path: '/status', servername: SERVER_NAME, agent: false, ...options },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      },
    );
    outgoing.on('error', reject).end();
  });
}

/** A certificate for a client, and the CA that signed it. */
async function newClient(): Promise<KeyPair & { signedBy: string }> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const authority = await createAuthority({ nowMs: systemClock.now() });
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const pem = (label: string, der: ArrayBuffer) =>
    `-----BEGIN ${label}-----\n${Buffer.from(der).toString('base64')}\n-----END ${label}-----\n`;
  const der = Buffer.from(authority.key.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: '01',
    subject: 'CN=system:kube-scheduler',
    issuer: new x509.X509Certificate(authority.cert).subject,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']),
    extensions: [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
  });
  const key = pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  return { cert: certificate.toString('pem'), key, signedBy: authority.cert };
}

test('serves HTTPS with the current certificate, to whoever asks', async () => {
  const server = await newServer();
  expect(await status(server.port, { ca: server.ca })).toBe(200);
  await server.rotate();
  expect(await status(server.port, { ca: server.ca })).toBe(200);
});

test('lets in only clients with a certificate of a CA that it was given, also when its own is renewed', async () => {
  const [client, stranger] = await Promise.all([newClient(), newClient()]);
  const server = await newServer({ clientCas: [client.signedBy] });
  for (let round = 0; round < 2; round += 1) {
    const { ca, port } = server;
    expect(await status(port, { ca, cert: client.cert, key: client.key })).toBe(200);
    await expect(status(port, { ca })).rejects.toThrow();
    await expect(status(port, { ca, cert: stranger.cert, key: stranger.key })).rejects.toThrow();
    await server.rotate();
  }
});

test('a standby passes questions on over HTTPS, and only to the leader that it was told of', async () => {
  const client = await newClient();
  const leader = await newServer({ clientCas: [client.signedBy] });
  const url = `https://127.0.0.1:${leader.port}`;
  const target = { url, ca: leader.ca, serverName: SERVER_NAME, cert: client.cert, key: client.key };
  const body = { Pod: { metadata: {} }, NodeNames: ['n'] };
  for (const [change, expected] of [
    [{}, 200],
    [{ serverName: 'other.rollcall.svc' }, 503],
    [{ ca: client.signedBy }, 503],
  ] as const) {
    const respond = createForwardResponder({ leader: () => ({ ...target, ...change }), clock: systemClock });
    const standby = await startExtender(new Map(), { respond });
    stops.push(standby.stop);
    expect((await ask(standby.port, FILTER, body)).status).toBe(expected);
  }
});
