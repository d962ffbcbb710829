import { idleLine, lineWithoutConnection } from '@rollcall/agent/probes/idle-line.ts';
import { createProbe } from '@rollcall/agent/probes/probe.ts';
import type { OpenLine } from '@rollcall/agent/probes/types.ts';
import type { ProbeSpec } from '@rollcall/common/report.ts';
import type { FakeProcess } from '@rollcall/common/testing/fake-process.ts';
import { portNamed } from '../model/kinds.ts';
import { FIRST_PORT, isClusterKind, isHeldOpen, passesWhileHung } from './services.ts';
import type { NodeSockets } from './sockets.ts';

/** These are as they ship: all that they need of a service is a socket. */
const REAL = ['tcp', 'tls'];

/**
 * Asks as a probe of this kind does, of a service that is there, hangs, or is not: what it would say to the bytes of an
 * answer is played by none. Everything above it is real.
 */
export function openLineFor(owner: FakeProcess, sockets: NodeSockets): (spec: ProbeSpec) => OpenLine | undefined {
  return (spec) => {
    const { kind } = spec;
    if (REAL.includes(kind)) return undefined;
    const probe = createProbe(kind, owner.clock, async (target, signal) => {
      const state = sockets.stateOf('port' in target && isHeldOpen(kind) ? target.port : portNamed(spec, FIRST_PORT));
      if (state === 'up' || (state === 'hangs' && passesWhileHung(kind))) return { healthy: true, says: 'answers' };
      if (state === 'hangs') await aborted(signal);
      if (isClusterKind(kind)) return { healthy: false, says: 'is not known' };
      const code = isHeldOpen(kind) ? 'ECONNREFUSED' : 'ENOENT';
      throw Object.assign(new Error(code), { code, syscall: 'connect' });
    });
    return isHeldOpen(kind) ? idleLine(probe, 1, sockets.connectFor(owner)) : lineWithoutConnection(probe);
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}
