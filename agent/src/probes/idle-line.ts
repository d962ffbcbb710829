import { Sentinel } from './sentinel.ts';
import type { Line, OpenLine, Probe, ProbeAddress, ProbeResult } from './types.ts';

/**
 * Asks over a connection of its own each time, and holds an idle one in between. With `freshEveryRounds` above 1 the
 * idle one is taken for an answer in the other rounds, which is as good where all that is asked for is a connection.
 */
export function idleLine(probe: Probe, freshEveryRounds = 1): OpenLine {
  return (onLost) => new IdleLine(probe, freshEveryRounds, onLost);
}

class IdleLine implements Line {
  readonly freshEveryRounds: number;
  readonly #probe: Probe;
  readonly #sentinel: Sentinel;
  #lastEvidence = '';

  constructor(probe: Probe, freshEveryRounds: number, onLost: () => void) {
    this.#probe = probe;
    this.freshEveryRounds = freshEveryRounds;
    this.#sentinel = new Sentinel(onLost);
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
