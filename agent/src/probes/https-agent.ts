import type { Agent } from 'node:https';
import { KEPT } from './http-line.ts';

/**
 * Without `ca`, certificates are not verified. With it, in PEM, a certificate must chain up to it, but its names are not
 * compared: a service is probed by the address of its pod or node, and its certificate is made for the name that its
 * clients know. It is an agent of our own, because the global one may have been given a proxy. Its TLS context is made
 * once: the default is a new one for every connection.
 */
export function httpsAgent(ca: Buffer | undefined): Agent {
  // By getBuiltinModule, because the TLS and HTTP modules cost 7 MB of resident memory as soon as they are loaded.
  const https = process.getBuiltinModule('node:https');
  const { createSecureContext } = process.getBuiltinModule('node:tls');
  return new https.Agent({
    ...KEPT,
    maxCachedSessions: 0,
    // What is in the bundle is trusted, be it a root or an intermediate CA, as Go programs have it.
    secureContext: createSecureContext({ ca: ca ?? [], allowPartialTrustChain: true }),
    rejectUnauthorized: ca !== undefined,
    checkServerIdentity: () => undefined,
  });
}
