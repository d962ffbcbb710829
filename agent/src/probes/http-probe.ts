import { readHttpCheck } from './http-check.ts';
import { httpLine, KEPT } from './http-line.ts';
import type { ProbeKind } from './types.ts';

/** Healthy when a GET in clear text is answered with an expected status; `readHttpCheck` has the settings. */
export const http: ProbeKind = {
  kind: 'http',
  prepare(spec, { clock }) {
    const check = readHttpCheck(spec);
    if (typeof check === 'string') return check;
    // By getBuiltinModule, because the HTTP modules cost memory as soon as they are loaded.
    const { Agent } = process.getBuiltinModule('node:http');
    // Of our own, because the global one may have been given a proxy.
    const agent = new Agent(KEPT);
    return httpLine('http', check, agent, clock);
  },
};
