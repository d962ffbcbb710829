import type { HttpSettings } from '@rollcall/common/checks/kinds/http.ts';
import { judgeStatus } from './http-check.ts';
import { http2Line } from './http2-line.ts';
import { BadAnswer } from './probe.ts';
import type { OpenLine, ProbeTools } from './types.ts';

/** Headers of a connection of HTTP/1.1, which HTTP/2 does not have; RFC 9113, section 8.2.2. */
const OF_CONNECTION = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'te'];
/** Less than a frame, which all of them have to fit into. */
const HEADERS_BYTES_MAX = 15_000;

/** Asks by GET with HTTP/2 in clear text. A server that answers with a body is asked over a new connection each time. */
export function getByHttp2(check: HttpSettings, tools: ProbeTools): OpenLine | string {
  const { path = '/', headers = {} } = check;
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const isNamed = given.some(([name]) => name === 'user-agent');
  // By HTTP/2 the authority takes the place of Host (RFC 9113, section 8.3.1).
  const host = given.find(([name]) => name === 'host')?.[1];
  const sent = [
    [':method', 'GET'] as const,
    [':path', path] as const,
    ...(host === undefined ? [] : [[':authority', host] as const]),
    ...given.filter(([name]) => !OF_CONNECTION.includes(name) && name !== 'host'),
    ...(isNamed ? [] : [['user-agent', 'rollcall-agent'] as const]),
  ];
  const bytes = sent.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (bytes > HEADERS_BYTES_MAX) return `its headers have ${bytes} bytes, and by HTTP/2 may have ${HEADERS_BYTES_MAX}`;
  return http2Line(
    {
      protocol: 'h2c',
      trust: undefined,
      async ask(connection, signal) {
        const { headers: answered } = await connection.request(sent, new Uint8Array(0), signal);
        const status = Number(answered.get(':status'));
        if (!Number.isInteger(status)) throw new BadAnswer('answered without a status');
        return judgeStatus(status, check);
      },
    },
    tools,
  );
}
