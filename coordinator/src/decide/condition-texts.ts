import type { NodeRecord } from '../state/node-record.ts';

/** Reason and message of conditions that keep their status change so often at most on a node. */
const TEXTS_MS = 10_000;

/** Remembers when conditions of nodes were written last, so that texts alone are no load. */
export class ConditionTexts {
  readonly #writtenMs = new Map<NodeRecord, number>();

  /** Whether texts may change by themselves on a node. Changes nothing. */
  isDue(record: NodeRecord, nowMs: number): boolean {
    return nowMs - (this.#writtenMs.get(record) ?? Number.NEGATIVE_INFINITY) >= TEXTS_MS;
  }

  /** The API server took conditions of a node. */
  wrote(record: NodeRecord, nowMs: number): void {
    this.#writtenMs.set(record, nowMs);
  }

  /** Nodes whose texts may change from now on, each once. */
  tick(nowMs: number): string[] {
    const due = [...this.#writtenMs.keys()].filter((record) => record.ended || this.isDue(record, nowMs));
    for (const record of due) this.#writtenMs.delete(record);
    return due.flatMap(({ name, ended }) => (ended ? [] : [name]));
  }
}
