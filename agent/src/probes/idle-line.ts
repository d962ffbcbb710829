import type { Connect } from './exchange.ts';
import { Sentinel } from './sentinel.ts';
import type { Line, OpenLine, Probe, ProbeAddress, ProbeResult } from './types.ts';

/**
 * Asks over a connection of its own each time, and holds an idle one in between. With `freshEveryRounds` above 1 the
 * idle one is taken for an answer in the other rounds, which is as good where all that is asked for is a connection.
 */
export function idleLine(probe: Probe, freshEveryRounds = 1, connect?: Connect): OpenLine {
  return (onLost) => new IdleLine(probe, freshEveryRounds, new Sentinel(onLost, connect));
}

/** Asks in every round, and holds no connection in between. */
export function lineWithoutConnection(probe: Probe): OpenLine {
  return () => ({ freshEveryRounds: 1, ask: probe, hold: () => {}, release: () => {} });
}

class IdleLine implements Line {
  readonly freshEveryRounds: number;
  readonly #probe: Probe;
  readonly #sentinel: Sentinel;
  #lastEvidence = '';

  constructor(probe: Probe, freshEveryRounds: number, sentinel: Sentinel) {
    this.#probe = probe;
    this.freshEveryRounds = freshEveryRounds;
    this.#sentinel = sentinel;
  }

  async ask(target: ProbeAddress, signal: AbortSignal, fresh: boolean): Promise<ProbeResult> {
    if (!fresh && this.#sentinel.connected) return { verdict: 'healthy', evidence: this.#lastEvidence };
    const result = await this.#probe(target, signal);
    this.#lastEvidence = result.evidence;
    return result;
  }

  hold(target: ProbeAddress): void {
    this.#sentinel.hold(target);
  }

  release(): void {
    this.#sentinel.release();
  }
}
