import { listedOf } from '../../state/node-keys.ts';
import {
  type ConditionOwners,
  NO_CONDITION_OWNERS,
  type NodeCondition,
  type ObservedCondition,
} from '../../state/observed-conditions.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import type { IntentEntry, NodeIntent } from './intent.ts';
import type { AskSkipped, ConditionChange, ForeignKey } from './plan.ts';

/**
 * Plans the change of a Node's conditions, and names the wanted conditions that are left to another writer who applied
 * them as well. One apply contains all conditions that are ours, since the API server removes those that it leaves out.
 * If none is left to apply, the plan removes the conditions that rollcall owns or that only the list names as ours.
 */
export function planConditions(
  node: ObservedNode,
  intent: NodeIntent,
  askSkipped: AskSkipped,
): { change?: ConditionChange; foreign: readonly ForeignKey[] } {
  const { conditions: present, conditionOwners: owners = NO_CONDITION_OWNERS } = node;
  const { ours, rivals, entry } = owners;
  // Unknown conditions can neither be sent unchanged nor be removed.
  if (!present) return { foreign: [] };
  const claims = [...intent.values()].filter(({ kind }) => kind === 'condition');
  const listed = listedOf(node, 'condition');
  const applied = new Applied(node, owners, listed);
  for (const claim of claims) applied.add(claim, askSkipped);
  const { foreign, types } = applied;
  const isDue = types.size > 0 && (applied.news.length > 0 || types.symmetricDifference(ours).size > 0);
  if (isDue) return { change: applied.change(true), foreign };
  const gone = new Set(claims.filter(isGone).map(({ key }) => key));
  const isLeft = ({ type }: ObservedCondition) =>
    gone.has(type) && !rivals.has(type) && (ours.has(type) || listed.has(type));
  const left = present.filter(isLeft).map(({ type, index }) => ({ type, index }));
  if (left.length > 0) return { change: { write: 'remove', conditions: left }, foreign };
  const isTheirs = ours.size > 0 && types.size === 0 && [...ours].every((type) => rivals.has(type));
  if (isTheirs) return { change: { write: 'disown', entry }, foreign };
  return applied.isWaiting ? { change: applied.change(false), foreign } : { foreign };
}

/** The types of conditions that the Node is to list as ours. */
export function conditionsToList(node: ObservedNode, intent: NodeIntent): ReadonlySet<string> {
  const { conditions: present, conditionOwners: owners = NO_CONDITION_OWNERS } = node;
  const listed = listedOf(node, 'condition');
  const types = new Set<string>();
  for (const { kind, key, stance } of intent.values()) {
    if (kind !== 'condition' || owners.rivals.has(key)) continue;
    const mayBeThere = !present || present.some(({ type }) => type === key);
    const isComing = present && stance === 'present';
    // A listed condition that is absent was about to be written when its writer ended, and may still arrive.
    const isKept = (mayBeThere || stance === 'keep') && listed.has(key);
    if (isComing || owners.ours.has(key) || isKept) types.add(key);
  }
  return types;
}

/** All that rollcall applies of conditions, as it is put together. */
class Applied {
  readonly conditions: NodeCondition[] = [];
  readonly types = new Set<string>();
  readonly news: string[] = [];
  /** Those of the news whose status stays as it is. */
  readonly #texts = new Set<string>();
  readonly foreign: ForeignKey[] = [];
  readonly #before: NodeCondition[] = [];
  readonly #waiting: NodeCondition[] = [];
  #force = false;
  readonly #node: ObservedNode;
  readonly #owners: ConditionOwners;
  readonly #listed: ReadonlySet<string>;

  constructor(node: ObservedNode, owners: ConditionOwners, listed: ReadonlySet<string>) {
    this.#node = node;
    this.#owners = owners;
    this.#listed = listed;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  add(claim: IntentEntry, askSkipped: AskSkipped): void {
    const { key, stance, value, news } = claim;
    if (isGone(claim)) return;
    const there = this.#node.conditions?.find(({ type }) => type === key);
    const cause = stance === 'present' ? askSkipped({ kind: 'condition', key }, value) : 'held';
    const rival = this.#owners.rivals.get(key);
    if (rival !== undefined) {
      if (cause === undefined)
        this.foreign.push({ kind: 'condition', key, cause: 'foreign', wanted: value, message: `owned by ${rival}` });
      return;
    }
    if (cause === 'foreign') return;
    if (cause !== undefined) {
      if (there && this.#owners.ours.has(key)) this.#put(asItIs(there));
    } else if (there?.status === value && (!news?.replacesText || isSameText(there, news))) {
      this.#put(asItIs(there));
    } else if (news) {
      const { reason, message } = news;
      const isSame = there?.status === value && there.lastTransitionTime !== null;
      const lastTransitionTime = isSame ? there.lastTransitionTime : news.at;
      if (!this.#put({ type: key, status: value, reason, message, lastTransitionTime })) return;
      this.news.push(key);
      if (isSame) this.#texts.add(key);
      if (there && this.#owners.ours.has(key)) this.#before.push(asItIs(there));
      if (there && (!this.#owners.ours.has(key) || this.#owners.touched.has(key))) this.#force = true;
    }
  }

  change(due: boolean): ConditionChange {
    return {
      write: 'apply',
      conditions: this.conditions,
      news: this.news,
      before: this.#before,
      force: this.#force,
      keepsAway: this.conditions.some(
        ({ type, status }) => status !== 'True' && this.news.includes(type) && !this.#texts.has(type),
      ),
      due,
      waiting: this.#waiting,
    };
  }

  /** Returns whether it is applied: what is neither ours nor listed as ours waits. */
  #put(condition: NodeCondition): boolean {
    const { type } = condition;
    if (!this.#owners.ours.has(type) && !this.#listed.has(type)) {
      this.#waiting.push(condition);
      return false;
    }
    this.conditions.push(condition);
    this.types.add(type);
    return true;
  }
}

function isSameText(there: ObservedCondition, { reason, message }: { reason: string; message: string }): boolean {
  return there.reason === reason && there.message === message;
}

function isGone({ stance }: IntentEntry): boolean {
  return stance === 'absent';
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
