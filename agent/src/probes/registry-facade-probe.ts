import type { Agent } from 'node:https';
import type { Clock } from '@rollcall/common/clock.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { type Answer, createProbe } from './probe.ts';
import type { Probe } from './types.ts';

const PATH = '/v2/remote/not-a-valid-image/manifests/latest';
const ACCEPT = 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json';

/**
 * The CA certificates to verify against, in PEM, asked before every probe so that a rotated file takes effect at once;
 * `undefined` while there is none to be had.
 */
export type CaProvider = () => Buffer | undefined;

/**
 * Healthy when registry-facade answers 404 to the manifest of an image that cannot exist: its way of saying that it
 * serves. Redirects are not followed and no proxy is used, whatever the environment says.
 *
 * TLS is not verified without `ca`, as Gitpod's own check does it. With `ca`, the certificate must chain up to it, but
 * its names are not compared: it is made for the name by which the cluster pulls images, and probed by the address of a
 * node. A CA that is configured and cannot be had fails the probe (`soft`), it does not switch verification off.
 */
export function createRegistryFacadeProbe(clock: Clock, ca?: CaProvider): Probe {
  const currentAgent = ca ? verifyingAgent(ca) : unverifyingAgent();
  return createProbe('https', clock, async (target, signal) => {
    const agent = currentAgent();
    if (!agent) return { healthy: false, says: 'was not asked: there is no CA certificate to verify it with' };
    return judgeStatus(await requestStatus(target, signal, agent));
  });
}

function judgeStatus(status: number): Answer {
  if (status === 404) return { healthy: true, says: 'answered 404 as expected' };
  return { healthy: false, says: `answered ${status}, 404 was expected` };
}

function unverifyingAgent(): () => Agent {
  const agent = createAgent(undefined);
  return () => agent;
}

/** An agent for the CA of the moment, made anew only when the bytes of the CA change. */
function verifyingAgent(ca: CaProvider): () => Agent | undefined {
  let known: { pem: Buffer; agent: Agent } | undefined;
  return () => {
    const pem = ca();
    if (!pem) return undefined;
    if (!known?.pem.equals(pem)) known = { pem, agent: createAgent(pem) };
    return known.agent;
  };
}

/**
 * An agent of our own, because the global one may have been given a proxy or keeps connections. Its TLS context is made
 * once: the default is a new one for every connection.
 */
function createAgent(ca: Buffer | undefined): Agent {
  // By getBuiltinModule, because the TLS and HTTP modules cost 7 MB of resident memory as soon as they are loaded.
  const https = process.getBuiltinModule('node:https');
  const { createSecureContext } = process.getBuiltinModule('node:tls');
  return new https.Agent({
    keepAlive: false,
    maxCachedSessions: 0,
    // What is in the file is trusted, be it a root or an intermediate CA, as Go programs have it.
    secureContext: createSecureContext({ ca: ca ?? [], allowPartialTrustChain: true }),
    rejectUnauthorized: ca !== undefined,
    checkServerIdentity: () => undefined,
  });
}

/** Resolves to the status of the response, whose body is not read. The connection is closed in any case. */
function requestStatus(target: ProbeTarget, signal: AbortSignal, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const request = process.getBuiltinModule('node:https').request({
      agent,
      host: target.host,
      port: target.port,
      path: PATH,
      headers: { accept: ACCEPT, 'user-agent': 'rollcall-agent' },
    });
    const onAbort = () => fail(signal.reason);
    const close = () => {
      signal.removeEventListener('abort', onAbort);
      request.destroy();
    };
    const fail = (error: unknown) => {
      close();
      reject(error);
    };
    signal.addEventListener('abort', onAbort);
    // Stays on after the end: destroying the request may report an error of its own.
    request.on('error', fail);
    request.on('response', (response) => {
      response.on('error', () => {});
      close();
      resolve(response.statusCode ?? 0);
    });
    request.end();
  });
}
