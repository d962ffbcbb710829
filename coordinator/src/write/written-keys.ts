/** What a write changed of a Node's keys, and whether its answer shows them so. */

import { FIELD_MANAGER, KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { withoutTaints } from '../decide/intent/lists.ts';
import {
  type ConditionChange,
  type KeyRef,
  type NodeKeyRef,
  type TaintChange,
  taintText,
} from '../decide/intent/plan.ts';
import type { Node, NodeCondition, Taint } from '../kube/objects.ts';
import { keysOfSet, keysOfWithdrawal, valueIn } from './key-sets.ts';
import type { Write } from './node-writer.ts';
import type { SeenNode } from './seen-node.ts';
import type { RefusedKey, WrittenKey } from './skipped-keys.ts';

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
      return [...writtenTaints(write.taints, spec?.taints ?? []), ...writtenList(write.taints, after.annotations)];
    case 'conditions':
      return writtenConditions(write.conditions, seen?.conditions ?? [], status?.conditions ?? []);
  }
}

/** The keys that a write was refused for; without those that the write has nothing of. */
export function refusedIn(
  write: Write,
  refused: readonly { ref: NodeKeyRef; message: string }[],
  { cause, ahead = [] }: Pick<RefusedKey, 'cause'> & { ahead?: readonly string[] | undefined },
): RefusedKey[] {
  return refused.flatMap(({ ref, message }) => {
    const wanted = wantedIn(write, ref);
    // No conflict is about a key that is only let go of.
    if (cause === 'foreign' && wanted === undefined) return [];
    return { ...ref, cause, wanted, message, keepsAway: keepsAway(write, ref, wanted, ahead) };
  });
}

/** The value that a write gives to a key; `undefined` where the key is to go. */
function wantedIn(write: Write, ref: NodeKeyRef): string | undefined {
  switch (write.write) {
    case 'set':
      return ref.kind === 'label' || ref.kind === 'annotation'
        ? valueIn(write.set, { ...ref, kind: ref.kind })
        : undefined;
    case 'withdraw':
      return undefined;
    case 'taints': {
      const added = write.taints.add.find(({ key }) => key === ref.key);
      return added && taintText(added);
    }
    case 'conditions': {
      const { conditions } = write;
      return conditions.write === 'apply' ? statusOf(conditions.conditions, ref.key) : undefined;
    }
  }
}

function keepsAway(
  { write }: Write,
  { key }: NodeKeyRef,
  wanted: string | undefined,
  ahead: readonly string[],
): boolean {
  if (write === 'withdraw') return ahead.includes(key);
  return wanted !== undefined && (write === 'taints' || (write === 'conditions' && wanted !== 'True'));
}

function statusOf(conditions: readonly Pick<NodeCondition, 'type' | 'status'>[], key: string): string | undefined {
  return conditions.find(({ type }) => type === key)?.status;
}

function writtenTaints({ add, remove }: TaintChange, after: readonly Taint[]): WrittenKey[] {
  const added = add.map((taint): WrittenKey => {
    // Admission may also have put another effect of the key beside it.
    const there = after.filter(({ key }) => key === taint.key).map(taintText);
    const held = there.length === 1 && there[0] === taintText(taint);
    return { kind: 'taint', key: taint.key, wanted: taintText(taint), held, keepsAway: true };
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

/** The keys that a change of taints adds, replaces or removes. */
export function taintKeys({ add, remove }: TaintChange): string[] {
  return [...new Set([...add.map(({ key }) => key), ...remove])];
}

/** The change of these keys alone, and of what the Node lists of them. */
export function restrictTaints(change: TaintChange, isKept: (key: string) => boolean): TaintChange {
  const { keys, ...rest } = change;
  const add = change.add.filter(({ key }) => isKept(key));
  const remove = change.remove.filter(isKept);
  const left = taintKeys(change).filter((key) => !isKept(key));
  const listed = keys && withoutTaints(keys, left);
  return { ...rest, add, remove, ...(listed && { keys: listed }) };
}

/** The list of keys changes in the same request. */
function writtenList({ keys }: TaintChange, annotations: Readonly<Record<string, string>>): WrittenKey[] {
  if (!keys) return [];
  const held = annotations[KEYS_ANNOTATION] === keys.after;
  return [{ kind: 'annotation', key: KEYS_ANNOTATION, wanted: keys.after, held, keepsAway: false }];
}

/** The field managers of a key other than ours, separated by commas; `undefined` when managedFields names none. */
export function writersOf({ metadata }: Node, { kind, key }: NodeKeyRef): string | undefined {
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
