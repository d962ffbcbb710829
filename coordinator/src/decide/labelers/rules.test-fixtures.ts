import type { Rules } from './implied-labels.ts';

type Found = {
  implied?: Readonly<Record<string, { value: string; reason: string }>>;
  unknown?: Readonly<Record<string, string>>;
  dependents?: readonly string[];
};

/** Rules for these labels that find the same on every node. */
export function rulesOf(labels: Iterable<string>, { implied = {}, unknown = {}, dependents = [] }: Found = {}): Rules {
  return {
    labels: new Map([...labels].map((label) => [label, `lines of ${label}`])),
    questions: [],
    dependents: () => new Set(dependents),
    evaluate: () => ({ implied: new Map(Object.entries(implied)), unknown: new Map(Object.entries(unknown)) }),
  };
}
