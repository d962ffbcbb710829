import type { ObservedNode } from '../fleet/observed-node.ts';
import type { Claim } from '../labelers/labeler.ts';
import type { NodeIntent } from './intent.ts';

/** That a key of a Node changed by a write of ours; a value is `undefined` where the key was, or is, absent. */
export type Change = {
  kind: Claim['kind'];
  key: string;
  from: string | undefined;
  to: string | undefined;
  reason: string;
};

/** What a write changed of the keys that labelers speak about. */
export function changesBetween(before: ObservedNode, after: ObservedNode, intent: NodeIntent): Change[] {
  const changes: Change[] = [];
  for (const { kind, key, reason } of intent.values()) {
    const from = valueOn(before, kind, key);
    const to = valueOn(after, kind, key);
    if (from !== to) changes.push({ kind, key, from, to, reason });
  }
  return changes;
}

/** The value of a key on a Node; of a taint with its effect, as `kubectl` writes it. */
export function valueOn(node: ObservedNode, kind: Claim['kind'], key: string): string | undefined {
  if (kind === 'label') return node.labels[key];
  if (kind === 'annotation') return node.annotations[key];
  const taint = node.taints?.find((each) => each.key === key);
  return taint && `${taint.value ?? ''}:${taint.effect}`;
}

const KEPT_PER_NODE = 10;
/** Those that changed last. */
const NODES_MAX = 5000;

export type DatedChange = Change & { atMs: number };

/** The last changes of those Nodes that changed last, for people. */
export class ChangeLog {
  readonly #nodes = new Map<string, DatedChange[]>();

  add(node: string, changes: readonly Change[], atMs: number): void {
    if (changes.length === 0) return;
    const known = this.#nodes.get(node) ?? [];
    this.#nodes.delete(node);
    for (const oldest of this.#nodes.keys()) {
      if (this.#nodes.size < NODES_MAX) break;
      this.#nodes.delete(oldest);
    }
    this.#nodes.set(node, [...known, ...changes.map((change) => ({ ...change, atMs }))].slice(-KEPT_PER_NODE));
  }

  /** The oldest first. */
  of(node: string): readonly DatedChange[] {
    return this.#nodes.get(node) ?? [];
  }

  forget(node: string): void {
    this.#nodes.delete(node);
  }
}
