import type { LabelSelector } from './label-selector.ts';

/** Something that items share: how much of it each needs, and how much there is. */
export type Budget<T, R> = {
  max: number;
  needOf: (item: T) => number;
  /** What to say to an item that needs more than those before it leave. */
  refusal: (need: number, left: number) => R;
};

/** Sums of fractions are not exact. */
const TOLERANCE = 1e-6;

/**
 * Counts what items need, the first come first. Each is counted with those that were taken before it, as if on one node
 * with all that its selector does not exclude: a node that comes later exceeds no budget.
 */
export class Budgets<T extends { nodeSelector?: LabelSelector | undefined }, R> {
  readonly #budgets: { budget: Budget<T, R>; load: Load }[];

  constructor(budgets: readonly Budget<T, R>[]) {
    this.#budgets = budgets.map((budget) => ({ budget, load: new Load() }));
  }

  take(item: T): void {
    for (const { budget, load } of this.#budgets) load.add(item.nodeSelector, budget.needOf(item));
  }

  /** Why an item does not fit beside those that were taken, or `undefined`. */
  refusal(item: T): R | undefined {
    for (const { budget, load } of this.#budgets) {
      const need = budget.needOf(item);
      const left = Math.max(0, budget.max - load.mostWith(item.nodeSelector));
      if (need > left + TOLERANCE) return budget.refusal(need, left);
    }
    return undefined;
  }
}

/** Sums of what items need, by the values of labels that select their nodes. */
export class Load {
  #total = 0;
  readonly #byKey = new Map<string, { total: number; byValue: Map<string, number> }>();

  add(selector: LabelSelector | undefined, amount: number): void {
    this.#total += amount;
    for (const [key, values] of valuesOf(selector)) {
      const asked = this.#byKey.get(key) ?? { total: 0, byValue: new Map<string, number>() };
      this.#byKey.set(key, asked);
      asked.total += amount;
      for (const value of values) asked.byValue.set(value, (asked.byValue.get(value) ?? 0) + amount);
    }
  }

  /**
   * The most that items can need on a node that this selector selects. A node has one value of a label, so those that
   * ask for other values of it are elsewhere; the label that excludes most of them counts.
   */
  mostWith(selector: LabelSelector | undefined): number {
    const loads = [...valuesOf(selector)].map(([key, values]) => {
      const asked = this.#byKey.get(key);
      if (!asked) return this.#total;
      const alike = [...values].reduce((sum, value) => sum + (asked.byValue.get(value) ?? 0), 0);
      return this.#total - asked.total + Math.min(asked.total, alike);
    });
    return Math.min(this.#total, ...loads);
  }
}

const NO_VALUES: ReadonlyMap<string, ReadonlySet<string>> = new Map();
const known = new WeakMap<LabelSelector, ReadonlyMap<string, ReadonlySet<string>>>();

/** The values that a selector asks for, by label. */
function valuesOf(selector: LabelSelector | undefined): ReadonlyMap<string, ReadonlySet<string>> {
  if (!selector) return NO_VALUES;
  const before = known.get(selector);
  if (before) return before;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const asked = new Map(Object.entries(matchLabels).map(([key, value]) => [key, new Set([value])]));
  for (const { key, operator, values = [] } of matchExpressions)
    if (operator === 'In' && !asked.has(key)) asked.set(key, new Set(values));
  known.set(selector, asked);
  return asked;
}
