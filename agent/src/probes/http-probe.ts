import { httpAgent } from './http-agents.ts';
import { readHttpCheck } from './http-check.ts';
import { httpLine } from './http-line.ts';
import type { ProbeKind } from './types.ts';

/** Healthy when a GET in clear text is answered with an expected status; `readHttpCheck` has the settings. */
export const http: ProbeKind = {
  kind: 'http',
  prepare(spec, { clock }) {
    const check = readHttpCheck(spec);
    if (typeof check === 'string') return check;
    return httpLine('http', check, httpAgent(), clock);
  },
};
