import type { Clock } from '@rollcall/common/clock.ts';
import { type CaProvider, httpsAgent } from './https-agent.ts';
import { type Answer, createProbe } from './probe.ts';
import { requestStatus, type StatusRequest } from './request-status.ts';
import type { Probe } from './types.ts';

/** What is asked, and the only answer to it that is healthy. */
export type HttpCheck = Pick<StatusRequest, 'path' | 'headers'> & { expectedStatus: number };

/**
 * Healthy when a GET is answered with the expected status. Redirects are not followed and no proxy is used, whatever
 * the environment says.
 */
export function createHttpProbe(clock: Clock, { expectedStatus, ...asked }: HttpCheck): Probe {
  const { Agent } = process.getBuiltinModule('node:http');
  // Of our own, because the global one may have been given a proxy or keeps connections.
  const agent = new Agent({ keepAlive: false });
  return createProbe('http', clock, async (target, signal) =>
    judgeStatus(await requestStatus(target, signal, { ...asked, protocol: 'http', agent }), expectedStatus),
  );
}

/** The same over TLS; `httpsAgent` says what `ca` does. Without a CA that should be there, the probe fails (`soft`). */
export function createHttpsProbe(clock: Clock, { expectedStatus, ...asked }: HttpCheck, ca?: CaProvider): Probe {
  const currentAgent = httpsAgent(ca);
  return createProbe('https', clock, async (target, signal) => {
    const agent = currentAgent();
    if (!agent) return { healthy: false, says: 'was not asked: there is no CA certificate to verify it with' };
    return judgeStatus(await requestStatus(target, signal, { ...asked, protocol: 'https', agent }), expectedStatus);
  });
}

function judgeStatus(status: number, expected: number): Answer {
  if (status === expected) return { healthy: true, says: `answered ${status} as expected` };
  return { healthy: false, says: `answered ${status}, ${expected} was expected` };
}
