import type { Clock } from '@rollcall/common/clock.ts';
import { type Connect, exchange } from './exchange.ts';
import { idleLine } from './idle-line.ts';
import { createProbe } from './probe.ts';
import { CLIENT_HELLO } from './tls-client-hello.ts';
import type { Probe, ProbeKind } from './types.ts';

/** The record header (content type, version, length) and the first byte of what it carries. */
const REPLY_BYTES = 6;
const ALERT_RECORD = 21;
const HANDSHAKE_RECORD = 22;
const SERVER_HELLO = 2;

/**
 * Healthy when a TLS ClientHello is answered with a ServerHello. A TLS alert is healthy as well: the question is
 * whether a process lives behind the port, which only a live process can refuse in TLS, and a service that insists on
 * client certificates or other parameters is not down. Certificates are not looked at, nor is the handshake finished.
 */
export function createTlsProbe(clock: Clock, connect?: Connect): Probe {
  return createProbe('tls', clock, async (target, signal) => {
    const reply = await exchange(target, signal, CLIENT_HELLO, REPLY_BYTES, connect);
    const [recordType, majorVersion] = reply;
    if (majorVersion === 3 && recordType === HANDSHAKE_RECORD && reply[5] === SERVER_HELLO) {
      return { healthy: true, says: 'answered with a ServerHello' };
    }
    if (majorVersion === 3 && recordType === ALERT_RECORD) return { healthy: true, says: 'answered with a TLS alert' };
    return { healthy: false, says: 'did not answer in TLS' };
  });
}

export const tls: ProbeKind = {
  kind: 'tls',
  prepare: (_spec, { clock, connect }) => idleLine(createTlsProbe(clock, connect), 1, connect),
};
