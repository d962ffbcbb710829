import type { NodeRecord } from '../../state/node-record.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import type { Claim } from '../labelers/labeler.ts';
import { entryKey, type NodeIntent } from './intent.ts';
import { KINDS, valueOn } from './kinds/kinds.ts';
import type { NodePlan } from './plan.ts';

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
  for (const entry of intent.values()) {
    const { kind, key, reason } = entry;
    const [from, to] = [valueOn(before, entry), valueOn(after, entry)];
    if (from !== to) changes.push({ kind, key, from, to, reason });
  }
  return changes;
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

/** The changes of a Node by a plan. Values that the plan writes again without a change are left out. */
export function plannedChanges(plan: NodePlan, node: ObservedNode, intent: NodeIntent): Change[] {
  return (Object.keys(KINDS) as Change['kind'][]).flatMap((kind) =>
    [...new Map(KINDS[kind].planned(plan, node))].flatMap(([key, to]) => {
      const from = valueOn(node, { kind, key });
      const claim = intent.get(entryKey({ kind, key }));
      const reason = claim?.reason ?? (to === undefined ? UNREQUESTED : RECORD);
      return from === to ? [] : [{ kind, key, from, to, reason }];
    }),
  );
}

const UNREQUESTED = 'nothing requests it any more';
/** No labeler claims the annotations in which rollcall remembers. */
const RECORD = 'it records on the Node what rollcall set or has seen there';
