import type { NodeRecord } from '../../state/node-record.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import type { Claim } from '../labelers/labeler.ts';
import { entryKey, type NodeIntent } from './intent.ts';
import { type NodePlan, taintText } from './plan.ts';

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
  return taint && taintText(taint);
}

/** The value that a claim wants, as `valueOn` shows it. */
export function wantedValue({ kind, value, effect = 'NoSchedule' }: Claim): string {
  return kind === 'taint' ? taintText({ value, effect }) : value;
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
  const { withdrawal, set, taints, conditions } = plan;
  const wanted = new Map<string, string | undefined>();
  const kinds = [
    { kind: 'label', field: 'labels', shared: node.shared },
    { kind: 'annotation', field: 'annotations', shared: undefined },
  ] as const;
  for (const { kind, field, shared } of kinds) {
    for (const key of withdrawal?.[field] ?? []) wanted.set(entryKey({ kind, key }), undefined);
    if (!set) continue;
    // A key that was applied before and is not in the set is let go of; it stays if another writer owns it as well.
    for (const key of node.owned[field]) if (!shared?.has(key)) wanted.set(entryKey({ kind, key }), undefined);
    for (const [key, value] of Object.entries(set[field])) wanted.set(entryKey({ kind, key }), value);
  }
  for (const key of taints?.remove ?? []) wanted.set(entryKey({ kind: 'taint', key }), undefined);
  for (const taint of taints?.add ?? []) wanted.set(entryKey({ kind: 'taint', key: taint.key }), taintText(taint));
  const statuses = conditions?.write === 'apply' ? [...conditions.conditions, ...conditions.waiting] : [];
  const gone = conditions?.write === 'remove' ? conditions.conditions : [];
  for (const { type, status } of statuses) wanted.set(entryKey({ kind: 'condition', key: type }), status);
  for (const { type } of gone) wanted.set(entryKey({ kind: 'condition', key: type }), undefined);
  return [...wanted].flatMap(([id, to]) => {
    const [kind, key] = [id.slice(0, id.indexOf(':')) as Change['kind'], id.slice(id.indexOf(':') + 1)];
    const from = valueOn(node, kind, key);
    if (from === to) return [];
    return [{ kind, key, from, to, reason: intent.get(id)?.reason ?? (to === undefined ? UNREQUESTED : RECORD) }];
  });
}

const UNREQUESTED = 'nothing requests it any more';
/** No labeler claims the annotations in which rollcall remembers. */
const RECORD = 'it records on the Node what rollcall set or has seen there';
