import type { Clock } from '@rollcall/common/clock.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import type { Probe, ProbeResult } from './types.ts';

/** What the service answered, and whether that was the right answer; `says` goes on after the service's address. */
export type Answer = { healthy: boolean; says: string };

/** Asks once, over one connection. Rejects with the socket's error, or with the signal's reason when it aborts. */
export type Attempt = (target: ProbeTarget, signal: AbortSignal) => Promise<Answer>;

/** The reason with which a probe is aborted when its time is over. */
export class ProbeTimeout extends Error {
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`No answer within ${timeoutMs} ms`);
    this.name = 'ProbeTimeout';
    this.timeoutMs = timeoutMs;
  }
}

/**
 * A probe out of one way to ask. Who is refused or reset asks once more at once, so that a single reset by a busy
 * service is no proof; the second time it is (`hard`). The abort signal bounds both attempts together.
 */
export function createProbe(protocol: string, clock: Clock, attempt: Attempt): Probe {
  return async (target, signal) => {
    const startMs = clock.monotonic();
    let finding = await ask(attempt, target, signal);
    if (finding.cut) finding = await ask(attempt, target, signal);
    return {
      verdict: finding.verdict,
      evidence: `${protocol} ${formatTarget(target)} ${finding.says}`,
      latencyMs: clock.monotonic() - startMs,
    };
  };
}

/** `HOST:PORT`, IPv6 addresses in brackets. */
export function formatTarget({ host, port }: ProbeTarget): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `cut`: the connection was refused, reset or closed, which is worth a second attempt. */
type Finding = { verdict: ProbeResult['verdict']; says: string; cut: boolean };

async function ask(attempt: Attempt, target: ProbeTarget, signal: AbortSignal): Promise<Finding> {
  try {
    const { healthy, says } = await attempt(target, signal);
    return { verdict: healthy ? 'healthy' : 'soft', says, cut: false };
  } catch (error) {
    return explainFailure(error, signal);
  }
}

/** Tells failures apart by code alone: messages hold addresses, ports and pointers that differ from time to time. */
function explainFailure(error: unknown, signal: AbortSignal): Finding {
  if (signal.aborted) return { verdict: 'soft', says: explainAbort(signal.reason), cut: false };
  const { code, syscall, name } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED')
    return { verdict: 'hard', says: 'refused the connection twice (ECONNREFUSED)', cut: true };
  if (code === 'ECONNRESET' && syscall !== undefined) {
    return { verdict: 'hard', says: 'reset the connection twice (ECONNRESET)', cut: true };
  }
  // Node.js gives this code also to an orderly close in mid-conversation, which only a live peer can keep doing.
  if (code === 'ECONNRESET') return { verdict: 'soft', says: 'closed the connection without an answer', cut: true };
  return { verdict: 'soft', says: `failed the probe (${code ?? name})`, cut: false };
}

function explainAbort(reason: unknown): string {
  return reason instanceof ProbeTimeout ? `did not answer within ${reason.timeoutMs} ms` : 'was not waited for';
}
