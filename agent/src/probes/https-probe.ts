import type { HttpsSettings } from '@rollcall/common/checks/kinds/http.ts';
import { httpAgent } from './http-agents.ts';
import { httpLine } from './http-line.ts';
import type { ProbeKind } from './types.ts';

/** Healthy when a GET over TLS is answered with an expected status. Without `caBundle`, certificates are not verified. */
export const https: ProbeKind<HttpsSettings> = {
  kind: 'https',
  prepare(check, { clock, tlsContexts }) {
    const trust = tlsContexts.of(check.caBundle);
    if (typeof trust === 'string') return trust;
    return httpLine('https', check, httpAgent(trust), clock);
  },
};
