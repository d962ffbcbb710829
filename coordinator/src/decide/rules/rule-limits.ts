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

/**
 * Leaves out the files that exceed what all files may have together, in the order given: every replica leaves out the
 * same. Yields between steps of less than a millisecond.
 */
export function* limitRules(given: readonly Rule[]): Generator<undefined, LimitedRules> {
  const rules: Rule[] = [];
  const problems: RuleProblem[] = [];
  const matches = new Map<string, Set<string>>();
  const uses = new Map<string, number>();
  let [predicates, matched, bytes] = [0, 0, 0];
  for (const rule of given) {
    const { label, file } = rule;
    const weight = predicatesOf(rule).reduce((sum, predicate) => sum + weightOf(predicate), 0);
    const size = bytesOf(rule);
    const leaveOut = (what: string) => problems.push({ file, problem: `is left out: ${what}` });
    yield;
    if (predicates + weight > PREDICATES_MAX) {
      const left = `it has ${weight} predicates, and the files before it leave ${PREDICATES_MAX - predicates} of ${PREDICATES_MAX}`;
      leaveOut(`${left}; a pattern counts as ${PATTERN_WEIGHT}, and each value in a list as one`);
      continue;
    }
    if (bytes + size > RULE_KEYS_BYTES_MAX) {
      leaveOut(`the labels of all rules could take more than ${RULE_KEYS_BYTES_MAX / 1024} KiB on a node`);
      continue;
    }
    const patterns = Map.groupBy(patternsOf(rule), (pattern) => pattern);
    const labels = [...rules.map((each) => each.label), label];
    const found = new Map<string, Set<string>>();
    const asking = [...matches].filter(([glob]) => globMatches(glob, label));
    let more = asking.reduce((sum, [glob]) => sum + (uses.get(glob) ?? 0), 0);
    for (const [glob, { length }] of patterns) {
      const own = new Set(matches.get(glob) ?? labels.filter((each) => globMatches(glob, each)));
      found.set(glob, own);
      more += own.size * length;
      yield;
    }
    if (matched + more > MATCHES_MAX) {
      leaveOut(`the patterns of all rules would match the labels of more than ${MATCHES_MAX} other rules`);
      continue;
    }
    for (const [glob, own] of found) {
      matches.set(glob, own);
      uses.set(glob, (uses.get(glob) ?? 0) + (patterns.get(glob)?.length ?? 0));
    }
    for (const [glob] of asking) matches.get(glob)?.add(label);
    predicates += weight;
    bytes += size;
    matched += more;
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
