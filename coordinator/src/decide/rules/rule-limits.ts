import { type Budget, Budgets } from '../../model/budgets.ts';
import { globMatches, isGlob } from '../../model/inventory/glob.ts';
import type { Predicate } from '../../model/inventory/predicate.ts';
import type { RuleProblem } from './parse-rule-file.ts';
import type { Rule } from './rule-graph.ts';

/** Predicates of all rule files together. */
export const PREDICATES_MAX = 10_000;
/** A pattern is held against every label. */
const PATTERN_WEIGHT = 10;
/** Labels of other rules that patterns of all rule files match together. */
export const MATCHES_MAX = 20_000;
/** Bytes of all labels of rules with their values, in the list of keys of a node; the fence admits 144 KiB for all kinds. */
export const RULE_KEYS_BYTES_MAX = 32 * 1024;

/** The rules that fit, the labels of rules that each pattern matches, and why the other files are left out. */
export type LimitedRules = {
  rules: Rule[];
  matches: ReadonlyMap<string, ReadonlySet<string>>;
  problems: RuleProblem[];
};

/** What a file needs of what all files share. */
type Need = { predicates: number; bytes: number; matches: number; nodeSelector?: undefined };

const BUDGETS: readonly Budget<Need, string>[] = [
  {
    max: PREDICATES_MAX,
    needOf: ({ predicates }) => predicates,
    refusal: (need, left) =>
      `it has ${need} predicates, and the files before it leave ${left} of ${PREDICATES_MAX}; a pattern counts as ${PATTERN_WEIGHT}, and each value in a list as one`,
  },
  {
    max: RULE_KEYS_BYTES_MAX,
    needOf: ({ bytes }) => bytes,
    refusal: () => `the labels of all rules could take more than ${RULE_KEYS_BYTES_MAX / 1024} KiB on a node`,
  },
  {
    max: MATCHES_MAX,
    needOf: ({ matches }) => matches,
    refusal: () => `the patterns of all rules would match the labels of more than ${MATCHES_MAX} other rules`,
  },
];

/**
 * Leaves out the files that exceed what all files may have together, in the order given: every replica leaves out the
 * same. Yields between steps of less than a millisecond.
 */
export function* limitRules(given: readonly Rule[]): Generator<undefined, LimitedRules> {
  const rules: Rule[] = [];
  const problems: RuleProblem[] = [];
  const matches = new Map<string, Set<string>>();
  const uses = new Map<string, number>();
  const budgets = new Budgets(BUDGETS);
  for (const rule of given) {
    const { label, file } = rule;
    const predicates = predicatesOf(rule).reduce((sum, predicate) => sum + weightOf(predicate), 0);
    const need: Need = { predicates, bytes: bytesOf(rule), matches: 0 };
    yield;
    let refusal = budgets.refusal(need);
    // What patterns match is looked up for files that could be taken, which have few.
    const patterns = Map.groupBy(refusal === undefined ? patternsOf(rule) : [], (pattern) => pattern);
    const labels = [...rules.map((each) => each.label), label];
    const found = new Map<string, Set<string>>();
    const asking = [...matches].filter(([glob]) => globMatches(glob, label));
    need.matches = asking.reduce((sum, [glob]) => sum + (uses.get(glob) ?? 0), 0);
    for (const [glob, { length }] of patterns) {
      const own = new Set(matches.get(glob) ?? labels.filter((each) => globMatches(glob, each)));
      found.set(glob, own);
      need.matches += own.size * length;
      yield;
    }
    refusal ??= budgets.refusal(need);
    if (refusal !== undefined) {
      problems.push({ file, problem: `is left out: ${refusal}` });
      continue;
    }
    budgets.take(need);
    for (const [glob, own] of found) {
      matches.set(glob, own);
      uses.set(glob, (uses.get(glob) ?? 0) + (patterns.get(glob)?.length ?? 0));
    }
    for (const [glob] of asking) matches.get(glob)?.add(label);
    rules.push(rule);
  }
  return { rules, matches, problems };
}

function predicatesOf({ conditions = [] }: Rule): Predicate[] {
  return conditions.flatMap(({ literals }) => literals.map(({ predicate }) => predicate));
}

function patternsOf(rule: Rule): string[] {
  return predicatesOf(rule).flatMap((predicate) =>
    predicate.kind === 'label' && isGlob(predicate.key) ? [predicate.key] : [],
  );
}

function weightOf(predicate: Predicate): number {
  const values = 'test' in predicate && predicate.test && 'values' in predicate.test ? predicate.test.values : [];
  const patterns = [...(predicate.kind === 'label' ? [predicate.key] : []), ...values].filter(isGlob).length;
  return Math.max(1, values.length) + patterns * (PATTERN_WEIGHT - 1);
}

/** The entry of its label in the list, with the longer origin, and its longest value. */
function bytesOf({ label, conditions = [] }: Rule): number {
  const value = conditions.reduce((longest, each) => Math.max(longest, each.value.length), 0);
  return label.length + '"label:":"rule:service",'.length + value;
}
