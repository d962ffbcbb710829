/** The API server counts its time from the arrival of a request, and may commit a little later than that. */
const LATE_MS = 1000;

/** Nodes to which a write failed, and what it may have done all the same. Times are monotonic, in milliseconds. */
export class LostWrites {
  /** By Node, whether it waits for the end of the fault; until a write is taken, or nothing is left to write. */
  readonly #failed = new Map<string, boolean>();
  readonly #closing = new Map<string, number>();
  #isOver = false;

  /** A write failed. `closesUntilMs`: it adds taints, and the API server gives it up then. */
  failed(node: string, closesUntilMs?: number): void {
    this.#failed.set(node, true);
    if (closesUntilMs !== undefined) this.#closing.set(node, closesUntilMs + LATE_MS);
  }

  /** A write was taken. */
  applied(node: string): void {
    if (this.#failed.delete(node)) this.#isOver = true;
  }

  /** Nothing has to be written. */
  rests(node: string): void {
    this.#failed.delete(node);
  }

  /** Whether the last write to a Node failed: it may have been carried out, and the watch may not have shown it yet. */
  isLast(node: string): boolean {
    return this.#failed.has(node);
  }

  /** How many Nodes there are whose last write failed. */
  get count(): number {
    return this.#failed.size;
  }

  /** The Nodes that wait for the end of the fault, once a write was taken after one that failed. */
  takeWaiting(): string[] {
    if (!this.#isOver) return [];
    this.#isOver = false;
    const nodes = [...this.#failed].flatMap(([node, waits]) => (waits ? node : []));
    for (const node of nodes) this.#failed.set(node, false);
    return nodes;
  }

  /** From when on a read shows whether a lost write added taints to a Node; `undefined` if none is in doubt. */
  readableAtMs(node: string): number | undefined {
    return this.#closing.get(node);
  }

  /** The Node was read, and shows what became of them. */
  read(node: string): void {
    this.#failed.delete(node);
    this.#closing.delete(node);
  }
}
