import type { NodeState } from './misplaced-pods.ts';

/** What is left of a node's state, and how long it takes until that is more. */
export type Ripe = { state: NodeState; moreInMs: number | undefined };

/**
 * Since when labels have been away, so that no pod goes for one that comes back soon. What was seen before this began,
 * or was forgotten, counts from the next look. Times are monotonic.
 */
export class AwayLabels {
  readonly #delayMs: number;
  /** By node, and there by `key=value`. */
  readonly #sinceMs = new Map<string, ReadonlyMap<string, number>>();

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  /** A node as it is now. Of what was withdrawn there remains what has been away for long enough. */
  look(node: string, { labels, withdrawn }: NodeState, nowMs: number): Ripe {
    const before = this.#sinceMs.get(node);
    const sinceMs = new Map<string, number>();
    const ripe: Record<string, string> = {};
    let moreInMs: number | undefined;
    for (const [key, value] of Object.entries(withdrawn)) {
      if (Object.hasOwn(labels, key) && labels[key] === value) continue;
      const awaySinceMs = before?.get(`${key}=${value}`) ?? nowMs;
      sinceMs.set(`${key}=${value}`, awaySinceMs);
      const leftMs = awaySinceMs + this.#delayMs - nowMs;
      if (leftMs <= 0) ripe[key] = value;
      else moreInMs = Math.min(moreInMs ?? leftMs, leftMs);
    }
    if (sinceMs.size > 0) this.#sinceMs.set(node, sinceMs);
    else this.#sinceMs.delete(node);
    return { state: { labels, withdrawn: ripe }, moreInMs };
  }

  forget(node: string): void {
    this.#sinceMs.delete(node);
  }

  clear(): void {
    this.#sinceMs.clear();
  }
}
