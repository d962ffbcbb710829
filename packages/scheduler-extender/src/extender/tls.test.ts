import { randomBytes, webcrypto } from 'node:crypto';
import { type RequestOptions, request } from 'node:https';
import { connect, type Server as TlsServer } from 'node:tls';
import { systemClock } from '@rollcall/common/clock.ts';
import { createAuthority, issueLeaf } from '@rollcall/coordinator/tls/certificate-authority.ts';
import { CertificateHolder, type KeyPair } from '@rollcall/coordinator/tls/certificate-holder.ts';
import { afterEach, expect, test } from 'vitest';
import { node } from '../scoring/scheduler.test-fixtures.ts';
import { ask, FILTER, startExtender, workspaceJson } from './extender.test-fixtures.ts';
import { createForward } from './responder.ts';

const SERVER_NAME = 'rollcall-coordinator.rollcall.svc';
const KNOWN = new Map([['n', node({ name: 'n' })]]);
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** `file`: what its certificate file holds; without, the coordinator looks after its certificate itself. */
async function newServer({ file, clientCas }: { clientCas?: string[]; file?: 'leaf' | 'chain' } = {}) {
  const authority = await createAuthority({ nowMs: systemClock.now() });
  const certificates = new CertificateHolder();
  const issue = () => issueLeaf(authority, { names: [SERVER_NAME], nowMs: systemClock.now() });
  const rotate = async () => {
    const pair = await issue();
    if (!file) return certificates.set(pair);
    return certificates.set({ cert: file === 'chain' ? pair.cert + authority.cert : pair.cert, key: pair.key });
  };
  await rotate();
  const extender = await startExtender(KNOWN, { certificates, ...(clientCas ? { clientCas } : {}) });
  stops.push(extender.stop);
  return { ...extender, ca: authority.cert, rotate, issue, certificates };
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

test('serves HTTPS with the current certificate, to every client', async () => {
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

test.each([['leaf'], ['chain'], [undefined]] as const)(
  'lets in replicas by the certificate that they all have, and no other client with a certificate of the same CA (%s)',
  async (file) => {
    const { signedBy } = await newClient();
    const { port, ca, rotate, issue, certificates } = await newServer({
      clientCas: [signedBy],
      ...(file ? { file } : {}),
    });
    const { cert, key } = certificates.current ?? { cert: '', key: '' };
    expect(await status(port, { ca, cert, key })).toBe(200);
    const other = await issue();
    await expect(status(port, { ca, cert: other.cert, key: other.key })).rejects.toThrow();
    await expect(status(port, { ca, cert: other.cert + cert, key: other.key })).rejects.toThrow();
    await rotate();
    expect(await status(port, { ca, cert, key })).toBe(200);
    await rotate();
    await expect(status(port, { ca, cert, key })).rejects.toThrow();
  },
);

test('refuses a client that resumes a session in which no certificate was ever shown', async () => {
  const client = await newClient();
  const [open, closed] = [await newServer(), await newServer({ clientCas: [client.signedBy] })];
  const keys = randomBytes(48);
  for (const { server } of [open, closed]) (server as unknown as TlsServer).setTicketKeys(keys);
  const options = { host: '127.0.0.1', servername: SERVER_NAME, rejectUnauthorized: false };
  const session = await new Promise<Buffer>((resolve) => {
    const socket = connect({ ...options, port: open.port });
    socket.once('session', (ticket: Buffer) => {
      socket.destroy();
      resolve(ticket);
    });
  });
  const { reused, text } = await new Promise<{ reused: boolean; text: string }>((resolve) => {
    let heard = '';
    const socket = connect({ ...options, port: closed.port, session });
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
      socket.end();
    });
    let isReused = false;
    socket.once('secureConnect', () => {
      isReused = socket.isSessionReused();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve({ reused: isReused, text: heard }));
    socket.write('GET /status HTTP/1.1\r\nhost: x\r\n\r\n');
  });
  expect({ reused, text }).toEqual({ reused: true, text: '' });
});

test('a standby passes questions on over HTTPS, and only to the leader that it knows', async () => {
  const client = await newClient();
  const leader = await newServer({ clientCas: [client.signedBy] });
  const url = `https://127.0.0.1:${leader.port}`;
  const target = { url, ca: leader.ca, serverName: SERVER_NAME, cert: client.cert, key: client.key };
  const body = { Pod: workspaceJson(), NodeNames: ['n'] };
  for (const [change, expected] of [
    [{}, 200],
    [{ serverName: 'other.rollcall.svc' }, 503],
    [{ ca: client.signedBy }, 503],
  ] as const) {
    const forward = createForward({ leader: () => ({ ...target, ...change }), clock: systemClock });
    const standby = await startExtender(new Map(), { leader: () => forward });
    stops.push(standby.stop);
    expect((await ask(standby.port, FILTER, body)).status).toBe(expected);
  }
});
