import type { Clock } from '@rollcall/common/clock.ts';
import type { AskedKey, AskSkipped, SkippedKey } from '../decide/intent/plan.ts';
import { type ContestedKey, ContestedKeys } from './contested-keys.ts';
import { type RefusedWithdrawal, RefusedWithdrawals } from './refused-withdrawals.ts';
import { type SeenNode, UnwritableKeys } from './unwritable-keys.ts';

/** Why keys of one Node are left out. */
export type SkippedOnNode = {
  unwritable: readonly SkippedKey[];
  contested: readonly ContestedKey[];
  refusedWithdrawals: readonly RefusedWithdrawal[];
};

/** Keys that are left out for now: could not be written, could not be removed, or are reverted by another writer. */
export class SkippedKeys {
  readonly unwritable: UnwritableKeys;
  readonly contested: ContestedKeys;
  readonly refusedWithdrawals: RefusedWithdrawals;

  constructor(clock: Clock) {
    this.unwritable = new UnwritableKeys(clock);
    this.contested = new ContestedKeys(clock);
    this.refusedWithdrawals = new RefusedWithdrawals(clock);
  }

  /** Answers a plan for the Node, and lists in `asked` all that the plan asked about. The questions change nothing. */
  asking(node: SeenNode): { ask: AskSkipped; asked: AskedKey[] } {
    const asked: AskedKey[] = [];
    const isUnwritable = this.unwritable.asking(node);
    const isContested = this.contested.asking(node);
    if (!isUnwritable && !isContested) return { ask: () => undefined, asked };
    const ask: AskSkipped = (ref, wanted) => {
      asked.push({ ref, wanted });
      return isUnwritable?.(ref, wanted) ?? isContested?.(ref, wanted);
    };
    return { ask, asked };
  }

  /** Records what a plan asked about, before the plan is written. */
  settle(node: SeenNode, asked: readonly AskedKey[]): void {
    this.unwritable.settle(node, asked);
    this.contested.settle(node, asked);
  }

  /** The keys of a Node that are left out, for explain. */
  keysFor(node: string): SkippedOnNode {
    const { unwritable, contested, refusedWithdrawals } = this;
    return {
      unwritable: unwritable.keysFor(node),
      contested: contested.keysFor(node),
      refusedWithdrawals: refusedWithdrawals.keysFor(node),
    };
  }

  /** In how many ms a key of the Node is worth another look by time alone; `undefined` when there is none. */
  dueInMs(node: string): number | undefined {
    const { unwritable, contested, refusedWithdrawals } = this;
    const dueMs = [unwritable, contested, refusedWithdrawals].map((keys) => keys.dueInMs(node));
    const soonestMs = Math.min(...dueMs.filter((ms) => ms !== undefined));
    return Number.isFinite(soonestMs) ? soonestMs : undefined;
  }

  /** The Node is gone. */
  forget(node: string): void {
    for (const keys of [this.unwritable, this.contested, this.refusedWithdrawals]) keys.forget(node);
  }
}
