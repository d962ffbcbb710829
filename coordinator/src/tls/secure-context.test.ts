import { Agent, request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { systemClock } from '@rollcall/common/clock.ts';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { createAuthority, issueLeaf } from './certificate-authority.ts';
import { CertificateHolder, type KeyPair, serveCurrentCertificate } from './certificate-holder.ts';
import { parseCertificate } from './certificate-info.ts';
import { nextStep } from './rotation.ts';
import { carryOut, readConfigMap, type StoredCertificates, viewOf } from './stored-certificates.ts';

const names = ['rollcall-coordinator.rollcall.svc', 'localhost', '127.0.0.1', '::1'];
const stops: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function serve(certificates: CertificateHolder): Promise<number> {
  const https = process.getBuiltinModule('node:https');
  const server = https.createServer((_request, response) => response.end('hello'));
  serveCurrentCertificate(server, certificates);
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  stops.push(() => closeServer(server, 100));
  return port;
}

function client(ca: string): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca, maxCachedSessions: 0 });
  stops.push(() => agent.destroy());
  return agent;
}

/** One request; resolves to the fingerprint of the certificate that the connection was made with, and its local port. */
function get(
  port: number,
  agent: Agent,
  servername = names[0],
): Promise<{ fingerprint: string; localPort: number | undefined }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, agent, servername }, (response) => {
      const socket = response.socket as TLSSocket;
      const seen = { fingerprint: socket.getPeerCertificate().fingerprint256, localPort: socket.localPort };
      response.on('end', () => resolve(seen)).resume();
    });
    outgoing.on('error', reject).end();
  });
}

async function newAuthority(): Promise<KeyPair> {
  return createAuthority({ nowMs: systemClock.now() });
}

describe('serveCurrentCertificate', () => {
  it('is accepted under every name by who trusts the authority, and refused by others', async () => {
    const authority = await newAuthority();
    const certificates = new CertificateHolder();
    certificates.set(await issueLeaf(authority, { names, nowMs: systemClock.now() }));
    const port = await serve(certificates);
    for (const name of ['rollcall-coordinator.rollcall.svc', 'localhost']) {
      await expect(get(port, client(authority.cert), name)).resolves.toHaveProperty('fingerprint');
    }
    await expect(get(port, client(authority.cert), 'other.name')).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    await expect(get(port, client((await newAuthority()).cert))).rejects.toThrow(/certificate/);
  });

  it('fails handshakes while there is no certificate, and serves as soon as there is', async () => {
    const authority = await newAuthority();
    const certificates = new CertificateHolder();
    const port = await serve(certificates);
    await expect(get(port, client(authority.cert))).rejects.toThrow();
    certificates.set(await issueLeaf(authority, { names, nowMs: systemClock.now() }));
    await expect(get(port, client(authority.cert))).resolves.toHaveProperty('fingerprint');
  });

  it('loses no client while an authority is replaced: not one that stays, nor one that comes', async () => {
    const nowMs = systemClock.now();
    const policy = { names, propagationMs: 600_000 };
    const certificates = new CertificateHolder();
    const first = await newAuthority();
    // The authority cannot sign any more: its key is gone.
    let stored: StoredCertificates = { leaf: await issueLeaf(first, { names, nowMs }), previous: [] };
    let bundle = [parseCertificate(first.cert)];
    certificates.set(stored.leaf as KeyPair);
    const port = await serve(certificates);
    const stays = client(first.cert);
    const before = await get(port, stays);
    const bundles = [first.cert];
    const actions: string[] = [];
    for (const atMs of [nowMs, nowMs + policy.propagationMs]) {
      for (let count = 0; count < 10; count += 1) {
        const published = { ...readConfigMap(undefined), certificates: bundle, sinceMs: nowMs };
        const view = viewOf(stored, { pair: certificates.current, issuer: undefined }, published);
        const step = nextStep(view.state, policy, atMs);
        if (step.action === 'wait') break;
        actions.push(step.action);
        const change = await carryOut(step, { stored, served: certificates.current, view, policy, nowMs: atMs });
        if ('bundle' in change) bundle = [...change.bundle];
        else stored = change.secret;
        if (stored.leaf) certificates.set(stored.leaf);
        bundles.push(bundle.map(({ pem }) => pem).join(''));
        // Until the new authority signs, every bundle is good enough; from then on, every one that names it.
        const good = step.action === 'sign-leaf' ? bundles.slice(-1) : bundles;
        for (const ca of good) await expect(get(port, client(ca))).resolves.toHaveProperty('fingerprint');
        expect(await get(port, stays)).toEqual(before);
      }
    }
    expect(actions).toEqual(['introduce-authority', 'publish', 'sign-leaf']);
    const comes = await get(port, client(bundles.at(-1) ?? ''));
    expect(comes.fingerprint).not.toBe(before.fingerprint);
    expect(comes.fingerprint).toBe(parseCertificate(stored.leaf?.cert ?? '').fingerprint);
    await expect(get(port, client(first.cert))).rejects.toThrow(/certificate/);
    expect(await get(port, stays)).toEqual(before);
  });
});
