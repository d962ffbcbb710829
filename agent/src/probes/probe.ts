import type { Clock } from '@rollcall/common/clock.ts';
import type { Probe, ProbeAddress, ProbeResult } from './types.ts';

/**
 * What the service answered, and whether that was the right answer; `says` goes on after the service's address.
 * `isProof`: no process can serve there, so no second attempt is needed. `isUnknown`: the service was not asked.
 */
export type ProbeAnswer = { healthy: boolean; isProof?: true; isUnknown?: true; says: string };

/** Asks once, over one connection. Rejects with the socket's error, or with the signal's reason when it aborts. */
export type ProbeAttempt = (target: ProbeAddress, signal: AbortSignal) => Promise<ProbeAnswer>;

/** The reason with which a probe is aborted when its time is over. */
export class ProbeTimeout extends Error {
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`No answer within ${timeoutMs} ms`);
    this.name = 'ProbeTimeout';
    this.timeoutMs = timeoutMs;
  }
}

/** An answer that shows what a peer does wrong. The message is the same for the same fault, and follows its address. */
export class BadAnswer extends Error {
  constructor(says: string) {
    super(says);
    this.name = 'BadAnswer';
  }
}

/** Characters of evidence; more than any sentence of a probe has. */
const EVIDENCE_MAX = 1024;

/**
 * A probe out of one way to ask. Who is refused or reset asks once more at once, so that a single reset by a busy
 * service is no proof; the second time it is (`hard`). The abort signal bounds both attempts together.
 */
export function createProbe(protocol: string, clock: Clock, attempt: ProbeAttempt): Probe {
  return async (target, signal) => {
    const startMs = clock.monotonic();
    let finding = await ask(attempt, target, signal);
    if (finding.cut) finding = await ask(attempt, target, signal);
    return {
      verdict: finding.verdict,
      evidence: `${protocol} ${formatTarget(target)} ${finding.says}`.slice(0, EVIDENCE_MAX),
      ...(finding.verdict === 'unknown' ? {} : { latencyMs: clock.monotonic() - startMs }),
    };
  };
}

/** `HOST:PORT`, IPv6 addresses in brackets, or the path or name. */
export function formatTarget(target: ProbeAddress): string {
  if ('path' in target) return target.path;
  if ('name' in target) return target.name;
  const { host, port } = target;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `cut`: the connection was refused, reset or closed, which is worth a second attempt. */
type Finding = { verdict: ProbeResult['verdict']; says: string; cut: boolean };

async function ask(attempt: ProbeAttempt, target: ProbeAddress, signal: AbortSignal): Promise<Finding> {
  try {
    const answer = await attempt(target, signal);
    return { verdict: verdictOf(answer), says: answer.says, cut: false };
  } catch (error) {
    return explainFailure(error, signal, 'path' in target);
  }
}

function verdictOf({ healthy, isProof, isUnknown }: ProbeAnswer): ProbeResult['verdict'] {
  if (healthy) return 'healthy';
  if (isUnknown) return 'unknown';
  return isProof ? 'hard' : 'soft';
}

/** Tells failures apart by code alone: messages hold addresses, ports and pointers that differ from time to time. */
function explainFailure(error: unknown, signal: AbortSignal, isLocal: boolean): Finding {
  if (signal.aborted) return { verdict: 'soft', says: explainAbort(signal.reason), cut: false };
  if (error instanceof BadAnswer) return { verdict: 'soft', says: error.message, cut: false };
  const { code, syscall, name } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED') {
    const says = isLocal ? 'has no listener' : 'refused the connection twice';
    return { verdict: 'hard', says: `${says} (ECONNREFUSED)`, cut: true };
  }
  if (code === 'ENOENT') return { verdict: 'hard', says: 'is not there (ENOENT)', cut: true };
  if (code === 'EACCES' || code === 'EPERM') {
    return { verdict: 'soft', says: `is not permitted to this agent (${code})`, cut: false };
  }
  // From a socket file only: over the network, the kernel lets wait who finds the queue full.
  if (code === 'EAGAIN') return { verdict: 'soft', says: 'takes no more connections (EAGAIN)', cut: false };
  if (code === 'ECONNRESET' && syscall !== undefined) {
    return { verdict: 'hard', says: 'reset the connection twice (ECONNRESET)', cut: true };
  }
  // Node.js gives this code also to an orderly close in mid-conversation, which only a live peer can keep doing.
  if (code === 'ECONNRESET') return { verdict: 'soft', says: 'closed the connection without an answer', cut: true };
  return { verdict: 'soft', says: `failed the probe (${code ?? name})`, cut: false };
}

function explainAbort(reason: unknown): string {
  return reason instanceof ProbeTimeout ? `did not answer within ${reason.timeoutMs} ms` : 'was not probed to the end';
}
