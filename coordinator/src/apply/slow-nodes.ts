import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';

export type SlowNodesOptions = {
  clock: Clock;
  /** Reads a Node; resolves to whether the API server returned it in time. */
  read: (node: string, timeoutMs: number) => Promise<boolean>;
};

/** A Node whose write took so long is slow. */
const SLOW_MS = 1000;
/** A write that others wait for may hang for so long while the API server answers a read, and for longer if it does not. */
const HUNG_MS = 100;
const HUNG_MAX_MS = 2000;
/** An answer that is on its way when the read is answered arrives within this time. */
const GRACE_MS = 25;

/**
 * Remembers the Nodes whose last write took long, and gives up writes that hang while the API server answers reads: an
 * admission webhook for one pool may hold up each write to that pool until it times out.
 */
export class SlowNodes {
  readonly #options: SlowNodesOptions;
  readonly #slow = new Set<string>();
  #reading: Promise<boolean> | undefined;
  /** How long a write may hang that others wait for. */
  #patienceMs = HUNG_MS;

  constructor(options: SlowNodesOptions) {
    this.#options = options;
  }

  has(node: string): boolean {
    return this.#slow.has(node);
  }

  /** Records a write that was answered after `tookMs`, or was not answered (infinite). */
  took(node: string, tookMs: number): void {
    const isSlow = tookMs >= SLOW_MS;
    // A Node that answers in so long did not hang: every write may take as long.
    if (isSlow) this.#patienceMs = HUNG_MS;
    else if (this.#slow.has(node) && tookMs >= this.#patienceMs) this.#patienceMs = Math.min(SLOW_MS, 2 * tookMs);
    if (isSlow) this.#slow.add(node);
    else this.#slow.delete(node);
  }

  forget(node: string): void {
    this.#slow.delete(node);
  }

  /** Calls `giveUp` once the write to `node` hangs and `isAwaited`, unless the returned function was called before. */
  watch(node: string, isAwaited: () => boolean, giveUp: (reason: CodedError) => void): () => void {
    const { clock } = this.#options;
    const startedMs = clock.monotonic();
    let hasEnded = false;
    let cancel = () => {};
    const check = async () => {
      // Hanging writes may take all the places that the API server has for rollcall, and reads wait as well.
      const isLate = clock.monotonic() - startedMs >= HUNG_MAX_MS;
      const isHung = isAwaited() && (isLate || (await this.#answers(node)));
      if (hasEnded) return;
      if (isHung) cancel = clock.after(GRACE_MS, () => giveUp(hungError()));
      else wait();
    };
    const wait = () => {
      cancel = clock.after(this.#patienceMs, () => void check());
    };
    wait();
    return () => {
      hasEnded = true;
      cancel();
    };
  }

  /** Sends one read for all writes that ask at the same time. */
  #answers(node: string): Promise<boolean> {
    this.#reading ??= this.#options.read(node, HUNG_MS).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }
}

function hungError(): CodedError {
  // The fields are what `isTimeout` knows it by.
  const fields = { timeoutMs: HUNG_MS };
  return new CodedError('KUBE_UNREACHABLE', 'The write hung while others waited', { fields });
}
