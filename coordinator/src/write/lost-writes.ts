/** The API server counts its time from the arrival of a request, and may commit a little later than that. */
const LATE_MS = 1000;

/** What may have been carried out on Nodes without an answer. Times are monotonic, in milliseconds. */
export class LostWrites {
  readonly #last = new Set<string>();
  readonly #closing = new Map<string, number>();

  /** A write was not answered. `closesUntilMs`: it adds taints, and the API server gives it up then. */
  failed(node: string, closesUntilMs?: number): void {
    this.#last.add(node);
    if (closesUntilMs !== undefined) this.#closing.set(node, closesUntilMs + LATE_MS);
  }

  applied(node: string): void {
    this.#last.delete(node);
  }

  /** Whether the last write to a Node was not answered. */
  isLast(node: string): boolean {
    return this.#last.has(node);
  }

  /** From when on a read shows whether a lost write added taints to a Node; `undefined` if none is in doubt. */
  readableAtMs(node: string): number | undefined {
    return this.#closing.get(node);
  }

  /** The Node was read, and shows what became of them. */
  read(node: string): void {
    this.#last.delete(node);
    this.#closing.delete(node);
  }
}
