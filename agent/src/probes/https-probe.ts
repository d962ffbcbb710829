import { httpAgent } from './http-agents.ts';
import { readHttpCheck } from './http-check.ts';
import { httpLine } from './http-line.ts';
import type { ProbeKind } from './types.ts';

/**
 * Healthy when a GET over TLS is answered with an expected status; `readHttpCheck` has the settings, and `caBundle` is
 * the CA to verify against, in PEM, or that in base64 as Kubernetes objects have it. Without it certificates are not
 * verified.
 */
export const https: ProbeKind = {
  kind: 'https',
  prepare(spec, { clock, tlsContexts }) {
    const check = readHttpCheck(spec);
    if (typeof check === 'string') return check;
    const { caBundle } = spec;
    const trust = tlsContexts.of(caBundle === undefined ? undefined : String(caBundle));
    if (typeof trust === 'string') return trust;
    return httpLine('https', check, httpAgent(trust), clock);
  },
};
