import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { keysOn, listedKey } from '../../../state/node-keys.ts';
import { NO_CONDITION_OWNERS, type NodeCondition, type ObservedCondition } from '../../../state/observed-conditions.ts';
import type { ObservedNode } from '../../../state/observed-node.ts';
import type { NodeIntent } from '../intent.ts';
import type { AskSkipped, ConditionChange, ForeignKey, NodeKeyRef, NodePlan } from '../plan.ts';
import {
  applyPatch,
  isAmong,
  jsonPatch,
  type KeyModule,
  type Operation,
  type Write,
  type WriteModule,
} from './kind.ts';

const NAMED = /^status\.conditions\[type="(.+)"\]/;

/** The type of a condition is its key, and its status is its value. */
export const condition: KeyModule = {
  field: 'status.conditions',
  isShown: ({ conditions }) => conditions !== undefined,
  valueOn: ({ conditions }, key) => conditions?.find(({ type }) => type === key)?.status,
  wantedValue: ({ value }) => value,
  plan: planConditions,
  planned: ({ conditions: change }) => {
    if (change?.write === 'remove') return change.conditions.map(({ type }) => [type, undefined]);
    if (change?.write !== 'apply') return [];
    return [...change.conditions, ...change.waiting].map(({ type, status }) => [type, status]);
  },
  isListed({ key, stance }, isListed, { conditions: present, conditionOwners: owners = NO_CONDITION_OWNERS }) {
    if (owners.rivals.has(key)) return false;
    const mayBeThere = !present || present.some(({ type }) => type === key);
    // A listed condition that is absent was about to be written when its writer ended, and may still arrive.
    const isKept = isListed && (mayBeThere || stance === 'keep');
    return isKept || owners.ours.has(key) || (present !== undefined && stance === 'present');
  },
  rivalOn: ({ conditionOwners }, key) => conditionOwners?.rivals.get(key),
  ownedAs: (key) => ['f:status', 'f:conditions', `k:{"type":"${key}"}`],
  keyIn: (named) => NAMED.exec(named)?.[1],
};

/**
 * Makes conditions all that rollcall applies to the status of the Node, removes some that are still where they were
 * seen, or gives up those that others own as well. The body of a write to the status has nothing else in it: it changes
 * metadata as well.
 */
export const conditionsWrite: WriteModule<Extract<Write, { write: 'conditions' }>> = {
  steps: ({ conditions }) => {
    const isApply = conditions?.write === 'apply';
    const isDue = conditions && !(isApply && !conditions.due);
    return isDue ? [{ write: 'conditions', conditions, urgent: isApply && conditions.keepsAway }] : [];
  },
  patch: ({ conditions: change }, node, isBound) => {
    const status = { subresource: 'status', whole: true } as const;
    switch (change.write) {
      case 'apply': {
        const { conditions, force } = change;
        return { ...applyPatch(node, { force, isBound, status: { conditions } }), ...status };
      }
      case 'remove':
        return { ...jsonPatch(node, isBound, removals(change.conditions)), ...status };
      case 'disown':
        return { ...jsonPatch(node, isBound, disownment(change.entry)), whole: true };
    }
  },
  changes: ({ conditions: change }) => {
    if (change.write === 'disown') return [];
    const statuses: { type: string; status?: string }[] = [...change.conditions];
    return statuses.map(({ type, status }) => {
      const keepsAway = status !== undefined && status !== 'True';
      return { kind: 'condition', key: type, wanted: status, keepsAway };
    });
  },
  suspects: ({ conditions }) => suspectsOf(conditions).map((key): NodeKeyRef => ({ kind: 'condition', key })),
  part: ({ conditions: change }, suspects) => ({
    write: 'conditions',
    conditions: restrict(change, isAmong(suspects)),
  }),
};

function suspectsOf(change: ConditionChange): readonly string[] {
  if (change.write === 'apply') return [...change.news, ...change.released.map(({ type }) => type)];
  return change.write === 'remove' ? change.conditions.map(({ type }) => type) : [];
}

/** All else that is ours stays as it is on the Node: no request, rehearsed or not, lets go of it. */
function restrict(change: ConditionChange, isTried: (type: string) => boolean): ConditionChange {
  if (change.write === 'disown') return change;
  if (change.write === 'remove')
    return { ...change, conditions: change.conditions.filter(({ type }) => isTried(type)) };
  const { conditions, news, before, released } = change;
  const tried = conditions.filter(({ type }) => isTried(type) || !news.includes(type));
  return { ...change, conditions: [...tried, ...[...before, ...released].filter(({ type }) => !isTried(type))] };
}

/** Removes conditions, if each is still where it was seen. */
function removals(conditions: readonly { type: string; index: number }[]): Operation[] {
  // From the end, so that the indexes of those before stay true.
  return conditions
    .toSorted((a, b) => b.index - a.index)
    .flatMap(({ type, index }): Operation[] => [
      { op: 'test', path: `/status/conditions/${index}/type`, value: type },
      { op: 'remove', path: `/status/conditions/${index}` },
    ]);
}

/** Afterwards rollcall owns nothing of the status any more, and nothing of it has changed. */
function disownment(entry: number): Operation[] {
  const path = `/metadata/managedFields/${entry}`;
  const test = (field: string, value: string): Operation => ({ op: 'test', path: `${path}/${field}`, value });
  return [
    test('manager', FIELD_MANAGER),
    test('operation', 'Apply'),
    test('subresource', 'status'),
    { op: 'remove', path },
  ];
}

/**
 * Plans the change of a Node's conditions, and names the wanted conditions that are left to another writer who applied
 * them as well. One apply contains all conditions that are ours, since the API server removes those that it leaves out.
 * If none is left to apply, the plan removes the conditions that rollcall owns or that only the list names as ours.
 */
function planConditions(
  node: ObservedNode,
  intent: NodeIntent,
  askSkipped: AskSkipped,
): Pick<NodePlan, 'conditions' | 'foreign'> {
  const { conditions: present, conditionOwners: owners = NO_CONDITION_OWNERS } = node;
  const { ours, rivals, touched, entry } = owners;
  // Unknown conditions can neither be sent unchanged nor be removed.
  if (!present) return {};
  const isListed = (type: string) => keysOn(node).has(listedKey('condition', type));
  const applied: NodeCondition[] = [];
  const waiting: NodeCondition[] = [];
  const before: NodeCondition[] = [];
  const news: string[] = [];
  const foreign: ForeignKey[] = [];
  const gone = new Set<string>();
  let force = false;
  let keepsAway = false;
  for (const { kind, key, stance, value, news: text } of intent.values()) {
    if (kind !== 'condition') continue;
    if (stance === 'absent') {
      gone.add(key);
      continue;
    }
    const there = present.find(({ type }) => type === key);
    const isOurs = ours.has(key);
    const cause = stance === 'present' ? askSkipped({ kind, key }, value) : 'held';
    const rival = rivals.get(key);
    if (rival !== undefined) {
      if (cause === undefined)
        foreign.push({ kind, key, cause: 'foreign', wanted: value, message: `owned by ${rival}` });
      continue;
    }
    if (cause === 'foreign' || (cause !== undefined && !(there && isOurs))) continue;
    // What is neither ours nor listed as ours waits.
    const applies = isOurs || isListed(key) ? applied : waiting;
    const isSame = there?.status === value;
    if (there && (cause !== undefined || (isSame && !(text?.replacesText && isOtherText(there, text))))) {
      applies.push(asItIs(there));
    } else if (text) {
      const since = isSame ? there.lastTransitionTime : null;
      const { reason, message, at } = text;
      applies.push({ type: key, status: value, reason, message, lastTransitionTime: since ?? at });
      if (applies === waiting) continue;
      news.push(key);
      keepsAway ||= value !== 'True' && since === null;
      if (there && isOurs) before.push(asItIs(there));
      force ||= there !== undefined && (!isOurs || touched.has(key));
    }
  }
  const isApplied = (type: string) => applied.some((each) => each.type === type);
  const released = present.filter(({ type }) => ours.has(type) && !rivals.has(type) && !isApplied(type)).map(asItIs);
  const others: Pick<NodePlan, 'foreign'> = foreign.length > 0 ? { foreign } : {};
  const applying = (due: boolean) =>
    ({ write: 'apply', conditions: applied, news, before, released, force, keepsAway, due, waiting }) as const;
  const isLeft = ({ type }: ObservedCondition) =>
    gone.has(type) && !rivals.has(type) && (ours.has(type) || isListed(type));
  const left = present.filter(isLeft).map(({ type, index }) => ({ type, index }));
  // An apply without one that another manager touched would leave it there, with an empty status.
  const isFirst = (type: string) =>
    touched.has(type) && askSkipped({ kind: 'condition', key: type }, undefined) === undefined;
  const first = left.filter(({ type }) => isFirst(type));
  if (first.length > 0) return { conditions: { write: 'remove', conditions: first }, ...others };
  const isDue = applied.length > 0 && (news.length > 0 || !isExactly(ours, applied));
  if (isDue) return { conditions: applying(true), ...others };
  if (left.length > 0) return { conditions: { write: 'remove', conditions: left }, ...others };
  const isTheirs = ours.size > 0 && applied.length === 0 && [...ours].every((type) => rivals.has(type));
  if (isTheirs) return { conditions: { write: 'disown', entry }, ...others };
  return waiting.length > 0 ? { conditions: applying(false), ...others } : others;
}

function isExactly(types: ReadonlySet<string>, conditions: readonly NodeCondition[]): boolean {
  return types.size === conditions.length && conditions.every(({ type }) => types.has(type));
}

function isOtherText(there: ObservedCondition, { reason, message }: { reason: string; message: string }): boolean {
  return there.reason !== reason || there.message !== message;
}

/** Omits empty fields: any other text would be a change. */
function asItIs({ type, status, reason, message, lastTransitionTime }: ObservedCondition): NodeCondition {
  return {
    type,
    status,
    ...(reason === '' ? {} : { reason }),
    ...(message === '' ? {} : { message }),
    ...(lastTransitionTime === null ? {} : { lastTransitionTime }),
  };
}
