import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { NodeRecord } from '../fleet/node-record.ts';
import type { ObservedNode } from '../fleet/observed-node.ts';

/** Nodes behind the startup gate, and when they have waited long enough, by the wall clock. */
export class GateWaits {
  readonly #maxWaitMs: number;
  readonly #dueMs = new Map<NodeRecord, number>();

  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  seen(record: NodeRecord, { taints, createdAtMs }: ObservedNode): void {
    const isGated = taints?.some(({ key }) => key === STARTUP_TAINT) === true;
    if (isGated) this.#dueMs.set(record, createdAtMs + this.#maxWaitMs);
    else this.#dueMs.delete(record);
  }

  /** Nodes that have waited long enough; each is told once. */
  due(nowMs: number): string[] {
    const due: string[] = [];
    for (const [record, dueMs] of this.#dueMs) {
      if (dueMs > nowMs && !record.ended) continue;
      this.#dueMs.delete(record);
      if (!record.ended) due.push(record.name);
    }
    return due;
  }
}
