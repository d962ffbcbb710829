import { keysOn, listedKey } from '../state/node-keys.ts';
import type { NodeRecord } from '../state/node-record.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import type { WithdrawnLabel } from './labelers/withdrawn-labels.ts';

/**
 * Labels that were removed by requests of their own, with the values that they had, until a write has noted that on the
 * Node: it no longer tells by itself. A program that ends in between never notes them.
 */
export class TakenLabels {
  readonly #isIgnored: (withdrawn: WithdrawnLabel) => boolean;
  readonly #nodes = new WeakMap<NodeRecord, Record<string, string>>();

  constructor(isIgnored: (withdrawn: WithdrawnLabel) => boolean) {
    this.#isIgnored = isIgnored;
  }

  of(record: NodeRecord): Readonly<Record<string, string>> | undefined {
    return this.#nodes.get(record);
  }

  /** Remembers the labels among `keys` that a node had and no longer has. `causes` says why they were removed. */
  took(
    record: NodeRecord,
    {
      keys,
      causes,
      before,
      after,
    }: {
      keys: readonly string[];
      causes: ReadonlyMap<string, WithdrawnLabel['cause']>;
      before: ObservedNode;
      after: ObservedNode;
    },
  ): void {
    const listed = keysOn(before);
    const gone = keys.flatMap((key) => {
      const value = before.labels[key];
      if (value === undefined || after.labels[key] === value) return [];
      const origin = listed.get(listedKey('label', key));
      return this.#isIgnored({ label: key, origin, cause: causes.get(key) }) ? [] : [[key, value]];
    });
    if (gone.length > 0) this.#nodes.set(record, { ...this.#nodes.get(record), ...Object.fromEntries(gone) });
  }

  /** Forgets the labels that are back on the Node. */
  seen(record: NodeRecord, { labels }: ObservedNode): void {
    this.noted(record, labels);
  }

  /** Forgets the labels that the Node notes with these values. */
  noted(record: NodeRecord, noted: Readonly<Record<string, string>>): void {
    const left = Object.entries(this.#nodes.get(record) ?? {}).filter(([key, value]) => noted[key] !== value);
    if (left.length > 0) this.#nodes.set(record, Object.fromEntries(left));
    else this.#nodes.delete(record);
  }
}
