import type { Clock } from '@rollcall/common/clock.ts';
import type { AskedKey, AskSetAside, SetAsideKey } from '../decide/intent/plan.ts';
import { type ContestedKey, ContestedKeys } from './contested-keys.ts';
import { type RefusedWithdrawal, RefusedWithdrawals } from './refused-withdrawals.ts';
import { type SeenNode, SetAside } from './set-aside.ts';

/** Why keys of one Node are left out. */
export type SkippedOnNode = {
  setAside: readonly SetAsideKey[];
  contested: readonly ContestedKey[];
  refusedWithdrawals: readonly RefusedWithdrawal[];
};

/** Keys that are left out for now: could not be written, could not be removed, or are reverted by another writer. */
export class SkippedKeys {
  readonly setAside: SetAside;
  readonly contested: ContestedKeys;
  readonly refusedWithdrawals: RefusedWithdrawals;

  constructor(clock: Clock) {
    this.setAside = new SetAside(clock);
    this.contested = new ContestedKeys(clock);
    this.refusedWithdrawals = new RefusedWithdrawals(clock);
  }

  /** Answers a plan for the Node, and lists in `asked` all that the plan asked about. The questions change nothing. */
  asking(node: SeenNode): { ask: AskSetAside; asked: AskedKey[] } {
    const asked: AskedKey[] = [];
    const isSetAside = this.setAside.asking(node);
    const isContested = this.contested.asking(node);
    if (!isSetAside && !isContested) return { ask: () => undefined, asked };
    const ask: AskSetAside = (ref, wanted) => {
      asked.push({ ref, wanted });
      return isSetAside?.(ref, wanted) ?? isContested?.(ref, wanted);
    };
    return { ask, asked };
  }

  /** Records what a plan asked about, before the plan is written. */
  settle(node: SeenNode, asked: readonly AskedKey[]): void {
    this.setAside.settle(node, asked);
    this.contested.settle(node, asked);
  }

  /** The keys of a Node that are left out, for explain. */
  keysFor(node: string): SkippedOnNode {
    const { setAside, contested, refusedWithdrawals } = this;
    return {
      setAside: setAside.keysFor(node),
      contested: contested.keysFor(node),
      refusedWithdrawals: refusedWithdrawals.keysFor(node),
    };
  }

  /** In how many ms a key of the Node is worth another look by time alone; `undefined` when there is none. */
  dueInMs(node: string): number | undefined {
    const { setAside, contested, refusedWithdrawals } = this;
    const dueMs = [setAside, contested, refusedWithdrawals].map((keys) => keys.dueInMs(node));
    const soonestMs = Math.min(...dueMs.filter((ms) => ms !== undefined));
    return Number.isFinite(soonestMs) ? soonestMs : undefined;
  }

  /** The Node is gone. */
  forget(node: string): void {
    for (const keys of [this.setAside, this.contested, this.refusedWithdrawals]) keys.forget(node);
  }
}
