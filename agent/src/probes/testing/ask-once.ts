import { systemClock } from '@rollcall/common/clock.ts';
import type { ProbeSpec } from '@rollcall/common/report.ts';
import { PROBE_KINDS } from '../kinds.ts';
import { ProbePaths } from '../probe-paths.ts';
import { TlsContexts } from '../tls-contexts.ts';
import type { Line, OpenLine, Probe, ProbeTools } from '../types.ts';

/** A way to services, as the agent makes it for a kind of probe. */
export function openLineFor(spec: ProbeSpec, tools: Partial<ProbeTools> = {}): OpenLine {
  const allTools = { clock: systemClock, paths: new ProbePaths(['/']), tlsContexts: new TlsContexts(), ...tools };
  const openLine = PROBE_KINDS.find(({ kind }) => kind === spec.kind)?.prepare(spec, allTools);
  if (typeof openLine !== 'function') throw new Error(openLine ?? `There is no kind ${spec.kind}`);
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
