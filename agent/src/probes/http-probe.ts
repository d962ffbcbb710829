import type { HttpSettings } from '@rollcall/common/checks/kinds/http.ts';
import { getByHttp2 } from './h2c-get.ts';
import { httpAgent } from './http-agents.ts';
import { httpLine } from './http-line.ts';
import type { ProbeKind } from './types.ts';

/** Healthy when a GET in clear text is answered with an expected status; with `h2c` by HTTP/2, without an upgrade. */
export const http: ProbeKind<HttpSettings & { h2c?: boolean }> = {
  kind: 'http',
  prepare: ({ h2c = false, ...check }, tools) =>
    h2c ? getByHttp2(check, tools) : httpLine('http', check, httpAgent(), tools.clock),
};
