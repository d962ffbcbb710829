import type { NodeRecord } from '../../state/node-record.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import type { Claim } from '../labelers/labeler.ts';
import type { NodeIntent } from './intent.ts';

/** A change of a key of a Node by a write of rollcall; a value is `undefined` where the key was, or is, absent. */
export type Change = {
  kind: Claim['kind'];
  key: string;
  from: string | undefined;
  to: string | undefined;
  reason: string;
};

/** The changes by a write of the keys that labelers claim. */
export function changesBetween(before: ObservedNode, after: ObservedNode, intent: NodeIntent): Change[] {
  const changes: Change[] = [];
  for (const { kind, key, reason } of intent.values()) {
    const from = valueOn(before, kind, key);
    const to = valueOn(after, kind, key);
    if (from !== to) changes.push({ kind, key, from, to, reason });
  }
  return changes;
}

/** The value of a key on a Node; of a taint with its effect, as `kubectl` writes it; of a condition its status. */
export function valueOn(node: ObservedNode, kind: Claim['kind'], key: string): string | undefined {
  if (kind === 'label') return node.labels[key];
  if (kind === 'annotation') return node.annotations[key];
  if (kind === 'condition') return node.conditions?.find(({ type }) => type === key)?.status;
  const taint = node.taints?.find((each) => each.key === key);
  return taint && `${taint.value ?? ''}:${taint.effect}`;
}

const KEPT_PER_NODE = 10;
/** How many Nodes are kept: the ones that changed last. */
const NODES_MAX = 5000;

export type DatedChange = Change & { atMs: number };

type Log = { changes: readonly DatedChange[] };

/** The last changes of those Nodes that changed last, for people. */
export class ChangeLog {
  readonly #logs = new WeakMap<NodeRecord, Log>();
  /** Ordered by the last change, the oldest first. */
  readonly #latest = new Set<Log>();

  add(record: NodeRecord, changes: readonly Change[], atMs: number): void {
    if (changes.length === 0) return;
    const log = this.#logs.get(record) ?? { changes: [] };
    this.#logs.set(record, log);
    log.changes = [...log.changes, ...changes.map((change) => ({ ...change, atMs }))].slice(-KEPT_PER_NODE);
    this.#latest.delete(log);
    this.#latest.add(log);
    for (const oldest of this.#latest) {
      if (this.#latest.size <= NODES_MAX) break;
      oldest.changes = [];
      this.#latest.delete(oldest);
    }
  }

  /** The oldest first. */
  of(record: NodeRecord): readonly DatedChange[] {
    return this.#logs.get(record)?.changes ?? [];
  }
}
