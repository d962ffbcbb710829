import type { HttpSettings } from '@rollcall/common/checks/kinds/http.ts';
import { httpAgent } from './http-agents.ts';
import { httpLine } from './http-line.ts';
import type { ProbeKind } from './types.ts';

/** Healthy when a GET in clear text is answered with an expected status. */
export const http: ProbeKind<HttpSettings> = {
  kind: 'http',
  prepare: (check, { clock }) => httpLine('http', check, httpAgent(), clock),
};
