import type { Clock } from '@rollcall/common/clock.ts';
import { type Connect, exchange } from './exchange.ts';
import { idleLine } from './idle-line.ts';
import { createProbe } from './probe.ts';
import type { Probe, ProbeKind } from './types.ts';

/** As long as the idle connection stands, so does the port; a full queue of connections shows in a new one alone. */
const FRESH_EVERY_ROUNDS = 5;

/**
 * Healthy when the port takes a TCP connection. The kernel completes the handshake also for a process that hangs: use
 * the TLS or HTTP/2 probe where that matters.
 */
export function createTcpProbe(clock: Clock, connect?: Connect): Probe {
  return createProbe('tcp', clock, async (target, signal) => {
    await exchange(target, signal, undefined, undefined, connect);
    return { healthy: true, says: 'accepted the connection' };
  });
}

export const tcp: ProbeKind = {
  kind: 'tcp',
  prepare: (_spec, { clock, connect }) => idleLine(createTcpProbe(clock, connect), FRESH_EVERY_ROUNDS, connect),
};
