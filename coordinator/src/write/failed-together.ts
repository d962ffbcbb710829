import type { Clock } from '@rollcall/common/clock.ts';

export type FailedTogetherOptions = {
  clock: Clock;
  /** Tries a Node now that waits for its backoff. */
  hasten: (nodeName: string) => void;
};

/** How often one Node is tried out of turn, to learn whether the API server is well again. */
const TRIAL_MS = 1000;
/** The most tries per second, over all Nodes, that the Nodes' own backoffs cause. */
const RETRIES_PER_SECOND = 50;

/**
 * Nodes whose last write the API server answered with a failure of its own (5xx). One of them is tried each second, and
 * as soon as a write of one gets through, all go on: none waits for a backoff that has grown during the outage. Where the
 * fault is with some Nodes only (a webhook for one pool), the others are not among them and are not held up.
 */
export class FailedTogether {
  readonly #options: FailedTogetherOptions;
  /** The one that was tried longest ago comes first. */
  readonly #nodes = new Set<string>();
  #cancelTrial: (() => void) | undefined;

  constructor(options: FailedTogetherOptions) {
    this.#options = options;
  }

  /** The Node's write failed. Returns how long it waits at least, in milliseconds. */
  failed(nodeName: string): number {
    this.#nodes.delete(nodeName);
    this.#nodes.add(nodeName);
    this.#cancelTrial ??= this.#options.clock.after(TRIAL_MS, () => this.#tryOne());
    return (this.#nodes.size * 1000) / RETRIES_PER_SECOND;
  }

  /** A write to the Node got through. */
  succeeded(nodeName: string): void {
    if (!this.#nodes.has(nodeName)) return;
    const all = [...this.#nodes];
    this.clear();
    for (const each of all) this.#options.hasten(each);
  }

  /** There is nothing to write to the Node any more. */
  forget(nodeName: string): void {
    this.#nodes.delete(nodeName);
    if (this.#nodes.size === 0) this.clear();
  }

  clear(): void {
    this.#nodes.clear();
    this.#cancelTrial?.();
    this.#cancelTrial = undefined;
  }

  #tryOne(): void {
    this.#cancelTrial = this.#options.clock.after(TRIAL_MS, () => this.#tryOne());
    const [oldest] = this.#nodes;
    if (oldest === undefined) return;
    this.#nodes.delete(oldest);
    this.#nodes.add(oldest);
    this.#options.hasten(oldest);
  }
}
