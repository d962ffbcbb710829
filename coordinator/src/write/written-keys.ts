/** What a write changed of a Node's keys, and whether its answer shows them so. */

import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { withoutTaints } from '../decide/intent/lists.ts';
import type { ConditionChange, ConditionRef, KeyRef, NodeRef, NodeSet, TaintChange } from '../decide/intent/plan.ts';
import type { Node, NodeCondition, Taint } from '../kube/objects.ts';
import type { ForeignKey } from './classify.ts';
import type { ContestedKeys, ContestRef, WrittenKey } from './contested-keys.ts';
import { keysOfSet, keysOfWithdrawal, valueIn } from './key-sets.ts';
import type { Write } from './node-writer.ts';
import type { SeenNode } from './unwritable-keys.ts';

/** `seen` is the Node before the write, `answer` after it. */
export function writtenKeys(write: Write, seen: SeenNode | undefined, { metadata, spec, status }: Node): WrittenKey[] {
  const after = { labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {} };
  const isSo = (ref: KeyRef, wanted: string | undefined) => valueIn(after, ref) === wanted;
  switch (write.write) {
    case 'set':
      return keysOfSet(write.set).flatMap((ref) => {
        const wanted = valueIn(write.set, ref);
        if (seen && valueIn(seen, ref) === wanted) return [];
        return [{ ...ref, wanted, held: isSo(ref, wanted), keepsAway: false }];
      });
    case 'withdraw':
      return keysOfWithdrawal(write.keys).map((ref) => ({
        ...ref,
        wanted: undefined,
        held: isSo(ref, undefined),
        keepsAway: true,
      }));
    case 'taints':
      return writtenTaints(write.taints, spec?.taints ?? []);
    case 'conditions':
      return writtenConditions(write.conditions, seen?.conditions ?? [], status?.conditions ?? []);
  }
}

/** The value that a write gives to a key, of a condition its status; `undefined` where it gives none. */
export function wantedIn(
  step: Extract<Write, { write: 'set' | 'conditions' }>,
  ref: KeyRef | ConditionRef,
): string | undefined {
  if (step.write === 'set') return ref.kind === 'condition' ? undefined : valueIn(step.set, ref);
  if (step.conditions.write !== 'apply') return undefined;
  return step.conditions.conditions.find(({ type }) => type === ref.key)?.status;
}

/**
 * Keys that were refused because another manager owns them: they count as tries, so that changing values are not tried
 * without end.
 */
export function triedKeys(set: NodeSet, foreign: readonly ForeignKey[]): WrittenKey[] {
  return foreign.flatMap(({ ref }) =>
    ref.kind === 'condition' ? [] : [{ ...ref, wanted: valueIn(set, ref), held: true, keepsAway: false }],
  );
}

function writtenTaints({ add, remove }: TaintChange, after: readonly Taint[]): WrittenKey[] {
  const added = add.map((taint): WrittenKey => {
    // Admission may also have put another effect of the key beside it.
    const there = after.filter(({ key }) => key === taint.key).map(taintValue);
    const held = there.length === 1 && there[0] === taintValue(taint);
    return { kind: 'taint', key: taint.key, wanted: taintValue(taint), held, keepsAway: true };
  });
  const replaced = new Set(add.map(({ key }) => key));
  const removed = remove.filter((key) => !replaced.has(key));
  return [
    ...added,
    ...removed.map((key): WrittenKey => {
      const held = !after.some((taint) => taint.key === key);
      return { kind: 'taint', key, wanted: undefined, held, keepsAway: false };
    }),
  ];
}

function writtenConditions(
  change: ConditionChange,
  before: readonly Pick<NodeCondition, 'type' | 'status'>[],
  after: readonly NodeCondition[],
): WrittenKey[] {
  const statusOf = (all: readonly Pick<NodeCondition, 'type' | 'status'>[], key: string) =>
    all.find(({ type }) => type === key)?.status;
  const written = (key: string, wanted: string | undefined): WrittenKey => {
    const keepsAway = wanted !== undefined && wanted !== 'True';
    return { kind: 'condition', key, wanted, held: statusOf(after, key) === wanted, keepsAway };
  };
  if (change.write === 'disown') return [];
  if (change.write === 'remove') return change.conditions.map(({ type }) => written(type, undefined));
  // A text that changes by itself is no sign that the condition was changed back.
  const isChange = (type: string) => statusOf(before, type) !== statusOf(change.conditions, type);
  return change.news.filter(isChange).map((type) => written(type, statusOf(change.conditions, type)));
}

/** The change without taints that must wait; `undefined` when nothing is left of it. */
export function uncontestedTaints(
  node: NodeRef,
  change: TaintChange | undefined,
  contested: ContestedKeys,
): TaintChange | undefined {
  if (!change) return undefined;
  // What the Node lists of services may change alone, but not ahead of taints that must wait.
  if (taintKeys(change).length === 0) return change;
  return restrictTaints(change, (key) => {
    const added = change.add.find((taint) => taint.key === key);
    return !contested.found(node, { kind: 'taint', key }, added && taintValue(added));
  });
}

/** The keys that a change of taints adds, replaces or removes. */
export function taintKeys({ add, remove }: TaintChange): string[] {
  return [...new Set([...add.map(({ key }) => key), ...remove])];
}

/** The change of these keys alone, and of what the Node lists of them; `undefined` when nothing is left of it. */
export function restrictTaints(change: TaintChange, isKept: (key: string) => boolean): TaintChange | undefined {
  const { keys, ...rest } = change;
  const add = change.add.filter(({ key }) => isKept(key));
  const remove = change.remove.filter(isKept);
  if (add.length + remove.length === 0) return undefined;
  const left = taintKeys(change).filter((key) => !isKept(key));
  const listed = keys && withoutTaints(keys, left);
  return { ...rest, add, remove, ...(listed && { keys: listed }) };
}

/** As the console shows a taint. */
function taintValue({ value, effect }: Taint): string {
  return `${value ?? ''}:${effect}`;
}

/** The field managers of a key other than ours, separated by commas; `undefined` when managedFields names none. */
export function writersOf({ metadata }: Node, { kind, key }: ContestRef): string | undefined {
  const path = {
    taint: ['f:spec', 'f:taints'],
    condition: ['f:status', 'f:conditions', `k:{"type":"${key}"}`],
    label: ['f:metadata', 'f:labels', `f:${key}`],
    annotation: ['f:metadata', 'f:annotations', `f:${key}`],
  }[kind];
  const isIn = (fields: unknown) =>
    path.reduce((at, part) => (at as Record<string, unknown> | undefined)?.[part], fields);
  const managers = (metadata.managedFields ?? [])
    .filter(({ manager, fieldsV1 }) => manager !== FIELD_MANAGER && isIn(fieldsV1) !== undefined)
    .map(({ manager }) => manager);
  return managers.length === 0 ? undefined : [...new Set(managers)].join(', ');
}
