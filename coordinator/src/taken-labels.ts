import type { ObservedNode } from './fleet/observed-node.ts';

/**
 * Labels that were removed by requests of their own, with the values that they had, until a write has noted that on the
 * Node: it no longer tells by itself. A program that ends in between never notes them.
 */
export class TakenLabels {
  readonly #ignored: ReadonlySet<string>;
  readonly #nodes = new Map<string, Record<string, string>>();

  constructor(ignored: ReadonlySet<string>) {
    this.#ignored = ignored;
  }

  of(node: string): Readonly<Record<string, string>> | undefined {
    return this.#nodes.get(node);
  }

  /** Those of `keys` that a node had and has no more. */
  took(keys: readonly string[], before: ObservedNode, after: ObservedNode): void {
    const gone = keys.flatMap((key) => {
      const value = before.labels[key];
      return value === undefined || after.labels[key] === value || this.#ignored.has(key) ? [] : [[key, value]];
    });
    if (gone.length > 0) this.#nodes.set(after.name, { ...this.#nodes.get(after.name), ...Object.fromEntries(gone) });
  }

  /** Those that are back are not taken any more. */
  seen({ name, labels }: ObservedNode): void {
    this.noted(name, labels);
  }

  /** These, with these values, are not to be remembered any more. */
  noted(node: string, noted: Readonly<Record<string, string>>): void {
    const left = Object.entries(this.#nodes.get(node) ?? {}).filter(([key, value]) => noted[key] !== value);
    if (left.length > 0) this.#nodes.set(node, Object.fromEntries(left));
    else this.#nodes.delete(node);
  }

  forget(node: string): void {
    this.#nodes.delete(node);
  }

  clear(): void {
    this.#nodes.clear();
  }
}
