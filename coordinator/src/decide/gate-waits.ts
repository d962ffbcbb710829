import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { NodeRecord } from '../state/node-record.ts';
import type { ObservedNode } from '../state/observed-node.ts';

/** The age of a Node by the wall clock, and the moment by the monotonic clock. */
type Observed = { ageMs: number; nowMs: number };

/** Nodes behind the startup gate in one term, and how long they have waited. */
export class GateWaits {
  /** After how long a wait means something else: the gate opens, or people are told. */
  readonly #momentsMs: readonly number[];
  /** Since when each node waits, by the monotonic clock. */
  readonly #sinceMs = new WeakMap<NodeRecord, number>();
  /** How many of the moments have passed. */
  readonly #gated = new Map<NodeRecord, number>();

  constructor(momentsMs: readonly number[]) {
    this.#momentsMs = momentsMs;
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
    if (!taints?.some(({ key }) => key === STARTUP_TAINT)) this.#gated.delete(record);
    else if (!this.#gated.has(record)) this.#gated.set(record, 0);
  }

  /** Nodes for which one of the moments has come, or the last of them (`isOver`); each is told once. `nowMs` is monotonic. */
  due(nowMs: number): { name: string; isOver: boolean }[] {
    const due: { name: string; isOver: boolean }[] = [];
    for (const [record, before] of this.#gated) {
      const waitedMs = nowMs - (this.#sinceMs.get(record) ?? nowMs);
      const passed = this.#momentsMs.filter((momentMs) => waitedMs >= momentMs).length;
      if (record.ended) this.#gated.delete(record);
      else if (passed > before) {
        this.#gated.set(record, passed);
        due.push({ name: record.name, isOver: passed === this.#momentsMs.length });
      }
    }
    return due;
  }
}

function beganMs({ cameMs }: NodeRecord, ageMs: number, nowMs: number): number {
  return cameMs ?? nowMs - Math.max(0, ageMs);
}
