import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { NodeRecord } from '../state/node-record.ts';
import type { ObservedNode } from '../state/observed-node.ts';

/** The age of a Node by the wall clock, and the moment by the monotonic clock. */
type Observed = { ageMs: number; nowMs: number };

/** Nodes behind the startup gate in one term, and how long they have waited. */
export class GateWaits {
  readonly #maxWaitMs: number;
  /** Since when each node waits, by the monotonic clock. */
  readonly #sinceMs = new WeakMap<NodeRecord, number>();
  readonly #gated = new Set<NodeRecord>();

  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * Counts the wait by the monotonic clock from the moment when this process saw the Node come, be it before the term: a
   * wrong or stepped wall clock opens no gate. Only a Node that the process found in its first list began to wait at its
   * creation by the wall clock. No gate opens later than the maximum after the Node was first seen, but by the time for
   * which the machine was suspended.
   */
  waitedMs(record: NodeRecord, ageMs: number, nowMs: number): number {
    return nowMs - (this.#sinceMs.get(record) ?? beganMs(record, ageMs, nowMs));
  }

  /** Records that the Node was seen. Other than by this, nothing is remembered. */
  observe(record: NodeRecord, { taints }: Pick<ObservedNode, 'taints'>, { ageMs, nowMs }: Observed): void {
    if (!this.#sinceMs.has(record)) this.#sinceMs.set(record, beganMs(record, ageMs, nowMs));
    if (taints?.some(({ key }) => key === STARTUP_TAINT)) this.#gated.add(record);
    else this.#gated.delete(record);
  }

  /** Nodes that have waited long enough; each is told once. `nowMs` is monotonic. */
  due(nowMs: number): string[] {
    const due = [...this.#gated].filter((record) => {
      return record.ended || nowMs - (this.#sinceMs.get(record) ?? nowMs) >= this.#maxWaitMs;
    });
    for (const record of due) this.#gated.delete(record);
    return due.filter(({ ended }) => !ended).map(({ name }) => name);
  }
}

function beganMs({ cameMs }: NodeRecord, ageMs: number, nowMs: number): number {
  return cameMs ?? nowMs - Math.max(0, ageMs);
}
