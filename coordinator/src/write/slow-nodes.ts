import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import { SLOW_MS } from '../kube/client.ts';

export type SlowNodesOptions = {
  clock: Clock;
  /** Reads a Node; resolves to whether the API server returned it in time. */
  read: (node: string, timeoutMs: number) => Promise<boolean>;
};

/**
 * A write that others wait for may hang for so many times as long as writes take of late, within these bounds, while the
 * API server answers a read, and for 2 s while it does not.
 */
const PATIENCE_FACTOR = 5;
const PATIENCE_MIN_MS = 100;
const PATIENCE_MAX_MS = SLOW_MS;
const HUNG_MAX_MS = 2000;
/** What writes take is the mean of about so many answers. Before the first, it is taken to be much. */
const ANSWERS = 16;
const TYPICAL_INITIAL_MS = 100;
const READ_TIMEOUT_MS = 100;
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
  /** How long writes take that are not slow. */
  #typicalMs = TYPICAL_INITIAL_MS;

  constructor(options: SlowNodesOptions) {
    this.#options = options;
  }

  has(node: string): boolean {
    return this.#slow.has(node);
  }

  /** Records a write that was answered after `tookMs`, or was not answered (infinite). */
  took(node: string, tookMs: number): void {
    if (tookMs >= SLOW_MS) {
      this.#slow.add(node);
      return;
    }
    this.#slow.delete(node);
    this.#typicalMs += (tookMs - this.#typicalMs) / ANSWERS;
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
      cancel = clock.after(this.#patienceMs(), () => void check());
    };
    wait();
    return () => {
      hasEnded = true;
      cancel();
    };
  }

  #patienceMs(): number {
    return Math.min(PATIENCE_MAX_MS, Math.max(PATIENCE_MIN_MS, PATIENCE_FACTOR * this.#typicalMs));
  }

  /** Sends one read for all writes that ask at the same time. */
  #answers(node: string): Promise<boolean> {
    this.#reading ??= this.#options.read(node, READ_TIMEOUT_MS).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }
}

function hungError(): CodedError {
  // The fields are what `isTimeout` knows it by.
  const fields = { timeoutMs: PATIENCE_MIN_MS };
  return new CodedError('KUBE_UNREACHABLE', 'The write hung while others waited', { fields });
}
