import type { Clock } from '@rollcall/common/clock.ts';
import { TokenBucket } from '@rollcall/common/token-bucket.ts';
import type { ServiceState } from './probes/types.ts';

/** So often may evidence alone change in what is reported, and once more in so long after that. */
const EVIDENCE_BURST = 5;
const EVIDENCE_REFILL_MS = 10_000;

/**
 * What a report says of a service. Whether it is ready shows at once; of evidence that keeps changing, some is left
 * out, since each costs a report in full.
 */
export class ShownState {
  readonly #evidenceChanges = new TokenBucket({ burst: EVIDENCE_BURST, intervalMs: EVIDENCE_REFILL_MS });
  readonly #clock: Clock;
  #state: ServiceState | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What to report now that this is seen. */
  show(state: ServiceState): ServiceState {
    const before = this.#state;
    const isSame = before?.ready === state.ready && before.unknown === state.unknown && before.digest === state.digest;
    if (isSame && (before.evidence === state.evidence || !this.#evidenceChanges.take(this.#clock.monotonic())))
      return before;
    this.#state = state;
    return state;
  }
}
