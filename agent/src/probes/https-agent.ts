import type { Agent } from 'node:https';
import { type CurrentAgent, KEPT } from './http-line.ts';

/**
 * The CA certificates to verify against, in PEM, asked before every probe so that a rotated file takes effect at once;
 * `undefined` while there is none to be had.
 */
export type CaProvider = () => Buffer | undefined;

/**
 * Without `ca`, certificates are not verified. With it, a certificate must chain up to it, but its names are not
 * compared: a service is probed by the address of its pod or node, and its certificate is made for the name that its
 * clients know. A CA that is configured and cannot be had does not switch verification off.
 */
export function httpsAgent(ca: CaProvider | undefined): CurrentAgent {
  return ca ? verifyingAgent(ca) : unverifyingAgent();
}

function unverifyingAgent(): CurrentAgent {
  const agent = createAgent(undefined);
  return () => agent;
}

/** An agent for the CA of the moment, made anew only when the bytes of the CA change. */
function verifyingAgent(ca: CaProvider): CurrentAgent {
  let known: { pem: Buffer; agent: Agent } | undefined;
  return () => {
    const pem = ca();
    if (!pem) return undefined;
    if (!known?.pem.equals(pem)) known = { pem, agent: createAgent(pem) };
    return known.agent;
  };
}

/**
 * An agent of our own, because the global one may have been given a proxy. Its TLS context is made once: the default is
 * a new one for every connection.
 */
function createAgent(ca: Buffer | undefined): Agent {
  // By getBuiltinModule, because the TLS and HTTP modules cost 7 MB of resident memory as soon as they are loaded.
  const https = process.getBuiltinModule('node:https');
  const { createSecureContext } = process.getBuiltinModule('node:tls');
  return new https.Agent({
    ...KEPT,
    maxCachedSessions: 0,
    // What is in the file is trusted, be it a root or an intermediate CA, as Go programs have it.
    secureContext: createSecureContext({ ca: ca ?? [], allowPartialTrustChain: true }),
    rejectUnauthorized: ca !== undefined,
    checkServerIdentity: () => undefined,
  });
}
