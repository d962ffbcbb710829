import type { Clock } from '@rollcall/common/clock.ts';
import { exchange } from './exchange.ts';
import { createProbe } from './probe.ts';
import type { Probe } from './types.ts';

/**
 * Healthy when the port takes a TCP connection. The kernel completes the handshake also for a process that hangs: use
 * the TLS or HTTP/2 probe where that matters.
 */
export function createTcpProbe(clock: Clock): Probe {
  return createProbe('tcp', clock, async (target, signal) => {
    await exchange(target, signal);
    return { healthy: true, says: 'accepted the connection' };
  });
}
