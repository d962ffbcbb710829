import type { ProbeSpec } from '@rollcall/common/report.ts';
import { readHttpCheck } from './http-check.ts';
import { httpLine } from './http-line.ts';
import { httpsAgent } from './https-agent.ts';
import type { ProbeKind } from './types.ts';

/**
 * Healthy when a GET over TLS is answered with an expected status; `readHttpCheck` has the settings, and `caBundle` is
 * the CA to verify against, in PEM, or that in base64 as Kubernetes objects have it. Without it certificates are not
 * verified.
 */
export const https: ProbeKind = {
  kind: 'https',
  prepare(spec, { clock }) {
    const check = readHttpCheck(spec);
    if (typeof check === 'string') return check;
    const bundle = readCaBundle(spec);
    if (typeof bundle === 'string') return bundle;
    return httpLine('https', check, httpsAgent(bundle), clock);
  },
};

function readCaBundle({ caBundle }: ProbeSpec): Buffer | string | undefined {
  if (caBundle === undefined) return undefined;
  const text = String(caBundle);
  const pem = Buffer.from(text, text.includes('-----BEGIN') ? 'utf8' : 'base64');
  try {
    // What holds no certificate is an error here; to TLS it would be an empty list.
    new (process.getBuiltinModule('node:crypto').X509Certificate)(pem);
    return pem;
  } catch {
    return 'its caBundle contains no certificate';
  }
}
