import { Backoff } from '@rollcall/common/backoff.ts';
import type { NodeState } from './misplaced-pods.ts';

/** A pod that is to be evicted, and when it may be tried again. Times are monotonic. */
export type WaitingPod = {
  dueMs: number;
  /** Whether people were told that it cannot be evicted. */
  told: boolean;
  readonly blocked: Backoff;
  readonly failed: Backoff;
};

/** A budget opens when another pod has become ready elsewhere, which takes a while. */
const BLOCKED_BASE_MS = 20_000;
const BLOCKED_MAX_MS = 30_000;
const FAILED_BASE_MS = 1000;
const FAILED_MAX_MS = 60_000;

/** What is remembered of a node that lost labels. */
export class WaitingPods {
  readonly #pods = new Map<string, WaitingPod>();
  readonly #random: () => number;
  /** Of the node as a whole: it could not be listed, or the API server takes nothing now. */
  readonly backoff: Backoff;
  looked: { state: NodeState; atMs: number } | undefined;

  constructor(random: () => number) {
    this.#random = random;
    this.backoff = new Backoff({ baseMs: FAILED_BASE_MS, maxMs: BLOCKED_MAX_MS, random });
  }

  get size(): number {
    return this.#pods.size;
  }

  /** These wait, and no others; those that did already keep their times. */
  keep(uids: readonly string[]): void {
    const kept = new Set(uids);
    for (const uid of this.#pods.keys()) if (!kept.has(uid)) this.#pods.delete(uid);
    const random = this.#random;
    for (const uid of kept) {
      if (this.#pods.has(uid)) continue;
      const blocked = new Backoff({ baseMs: BLOCKED_BASE_MS, maxMs: BLOCKED_MAX_MS, random });
      const failed = new Backoff({ baseMs: FAILED_BASE_MS, maxMs: FAILED_MAX_MS, random });
      this.#pods.set(uid, { dueMs: 0, told: false, blocked, failed });
    }
  }

  get(uid: string): WaitingPod | undefined {
    return this.#pods.get(uid);
  }

  delete(uid: string): void {
    this.#pods.delete(uid);
  }

  /** When the first of them is due; `undefined` when none waits. */
  nextDueMs(): number | undefined {
    if (this.#pods.size === 0) return undefined;
    return Math.min(...[...this.#pods.values()].map(({ dueMs }) => dueMs));
  }
}
