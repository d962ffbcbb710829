import { systemClock } from '@rollcall/common/clock.ts';
import type { ProbeSpec } from '@rollcall/common/report.ts';
import { readProbe } from '../kinds.ts';
import { ProbePaths } from '../probe-paths.ts';
import { TlsContexts } from '../tls-contexts.ts';
import type { Line, OpenLine, Probe, ProbeTools } from '../types.ts';

/** A probe of this kind, for which a GET is well answered by 404. */
export function probeOf(kind: string): ProbeSpec {
  return kind === 'http' || kind === 'https' ? { kind, expectedStatuses: ['404'] } : { kind };
}

/** A way to services, as the agent makes it for a kind of probe. */
export function openLineFor(spec: ProbeSpec, tools: Partial<ProbeTools> = {}): OpenLine {
  const allTools = { clock: systemClock, paths: new ProbePaths(['/']), tlsContexts: new TlsContexts(), ...tools };
  const probe = readProbe(spec);
  const openLine = typeof probe === 'string' ? probe : probe.kind.prepare(probe.settings, allTools);
  if (typeof openLine !== 'function') throw new Error(openLine);
  return openLine;
}

/** A probe that asks once over a new connection and holds nothing after that. */
export function askOnce(spec: ProbeSpec): Probe {
  const openLine = openLineFor(spec);
  return async (target, signal) => {
    const line: Line = openLine(() => {});
    const result = await line.ask(target, signal, true);
    line.release();
    return result;
  };
}
