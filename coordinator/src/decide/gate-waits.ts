import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { NodeRecord } from '../state/node-record.ts';
import type { ObservedNode } from '../state/observed-node.ts';

/** The age of a Node by the wall clock, and the moment by the monotonic clock. */
type Observed = { ageMs: number; nowMs: number };

/** When a wait means something else: the gate opens, or people are told how long it takes. */
export type GateMoment = { ms: number; news?: 'half' | 'over' };

/** Nodes behind the startup gate in one term, and how long they have waited. */
export class GateWaits {
  readonly #moments: readonly GateMoment[];
  /** Since when each node waits, by the monotonic clock. */
  readonly #sinceMs = new WeakMap<NodeRecord, number>();
  /** Until when the moments were told, in milliseconds of the wait. */
  readonly #gated = new Map<NodeRecord, number>();

  constructor(moments: readonly GateMoment[]) {
    this.#moments = moments;
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
    else if (!this.#gated.has(record)) this.#gated.set(record, Number.NEGATIVE_INFINITY);
  }

  /** Nodes for which moments have come, each told once, with the last news among them. `nowMs` is monotonic. */
  due(nowMs: number): { name: string; news: GateMoment['news'] }[] {
    const due: { name: string; news: GateMoment['news'] }[] = [];
    for (const [record, toldMs] of this.#gated) {
      const waitedMs = nowMs - (this.#sinceMs.get(record) ?? nowMs);
      if (record.ended) this.#gated.delete(record);
      else this.#gated.set(record, waitedMs);
      const passed = this.#moments.filter(({ ms }) => ms > toldMs && ms <= waitedMs);
      if (record.ended || passed.length === 0) continue;
      const all = passed.map(({ news }) => news);
      due.push({ name: record.name, news: (['over', 'half'] as const).find((news) => all.includes(news)) });
    }
    return due;
  }
}

function beganMs({ cameMs }: NodeRecord, ageMs: number, nowMs: number): number {
  return cameMs ?? nowMs - Math.max(0, ageMs);
}
