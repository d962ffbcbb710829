import { atOnce } from '@rollcall/common/slices.ts';
import { globMatches } from '../../model/inventory/glob.ts';
import type { Inventory } from '../../model/inventory/inventory.ts';
import { type Predicate, questionOf } from '../../model/inventory/predicate.ts';
import { NOTHING_UNDECIDED, type Undecided } from '../../model/undecided.ts';
import { type Found, type JudgedLine, judgeLines, judgeRule, NOT_IMPLIED, type RuleInputs } from './judge-rule.ts';
import type { Condition, RuleProblem } from './parse-rule-file.ts';
import { graphOf, type Rule, type RuleGraph } from './rule-graph.ts';
import { type LimitedRules, limitRules } from './rule-limits.ts';

/** The result of the rules for one node. A label of a rule that is in neither map is not implied. */
export type Implications = {
  /** Labels with their values and the reason, one clause for people that names file, line and what was found. */
  implied: ReadonlyMap<string, { value: string; reason: string }>;
  /** Labels that are unknown now, with the reason; they stay as they are. */
  unknown: ReadonlyMap<string, string>;
};

/** Says why a line may not be in force because of what others have, or nothing. */
export type RefuseLine = (rule: Rule, condition: Condition) => string | undefined;

/** The maximum number of questions that agents answer. */
const QUESTIONS_MAX = 64;
const MATCHED_KEYS_MAX = 10_000;
const NO_LABELS: readonly string[] = [];
const SURENESS = { no: 0, unknown: 1, yes: 2 } as const;

/** All rules, ready to be asked about nodes. Their order makes no difference. */
export class RuleSet {
  /** Sorted by label. */
  readonly rules: readonly Rule[];
  readonly #graph: RuleGraph;
  readonly #byLabel: ReadonlyMap<string, number>;
  readonly #limited: LimitedRules;
  /** The rules that ask for each label or pattern. */
  readonly #asking = new Map<string, Set<number>>();
  /** The nodes of a fleet have mostly the same keys, so that each is held against all patterns once. */
  readonly #matchedByKey = new Map<string, readonly string[]>();
  /** Every label that some rule gives, with the lines of its file. A file without lines gives none. */
  readonly labels: ReadonlyMap<string, string>;
  /** Whether any line asks for a resource or a declared feature, which only whole Nodes show. */
  readonly needsWholeNodes: boolean;
  /** The names of declared features that lines use; sorted. */
  readonly declaredFeatures: readonly string[];
  /** Whether any line asks for what drivers offer in ResourceSlices. */
  readonly usesDra: boolean;
  /** The names of NFD features that lines use; sorted. */
  readonly nfdNames: readonly string[];
  /** The questions that agents have to be asked, because they do not report the answers by themselves; sorted. */
  readonly questions: readonly string[];
  /** Rules that build on each other in a circle, and more questions than agents answer. */
  readonly problems: readonly RuleProblem[];

  /** The rules that fit into the limits. No two are to have the same label. Yields where it takes long. */
  static *build(rules: Iterable<Rule>): Generator<undefined, RuleSet> {
    const byFile = [...rules].sort((a, b) => (a.file < b.file ? -1 : 1));
    return new RuleSet([], yield* limitRules(byFile));
  }

  /** For few rules: holds the loop until it is built. */
  constructor(given: Iterable<Rule>, limited: LimitedRules = atOnce(limitRules([...given]))) {
    this.rules = limited.rules.toSorted((a, b) => (a.label < b.label ? -1 : 1));
    this.#limited = limited;
    this.#graph = graphOf(this.rules, limited.matches);
    this.#byLabel = new Map(this.rules.map(({ label }, rule) => [label, rule]));
    this.labels = new Map(
      this.rules.flatMap((rule) => (rule.conditions?.length === 0 ? [] : [[rule.label, linesOf(rule)]])),
    );
    const predicates = this.rules.flatMap(termsOf);
    for (const [rule, each] of this.rules.entries()) {
      for (const predicate of termsOf(each)) {
        if (predicate.kind !== 'label') continue;
        const asking = this.#asking.get(predicate.key) ?? new Set();
        this.#asking.set(predicate.key, asking.add(rule));
      }
    }
    const namesOf = (kind: 'declared' | 'nfd') => [
      ...new Set(predicates.flatMap((predicate) => (predicate.kind === kind ? [predicate.name] : []))),
    ];
    this.declaredFeatures = namesOf('declared').sort();
    this.needsWholeNodes = this.declaredFeatures.length > 0 || predicates.some(({ kind }) => kind === 'resource');
    this.usesDra = predicates.some(({ kind }) => kind === 'dra');
    this.nfdNames = namesOf('nfd').sort();
    const questions = [...new Set(predicates.flatMap((predicate) => questionOf(predicate) ?? []))].sort();
    this.questions = questions.slice(0, QUESTIONS_MAX);
    const problems = [...limited.problems, ...this.#graph.problems, ...this.#unasked(questions.slice(QUESTIONS_MAX))];
    this.problems = problems.sort((a, b) => (a.file < b.file ? -1 : Number(a.file > b.file)));
  }

  /** The same rules without some of their lines, which fit into the limits as these do. */
  without(isRefused: RefuseLine): RuleSet {
    const rules = this.rules.map((rule) => {
      const kept = rule.conditions?.filter((condition) => isRefused(rule, condition) === undefined);
      return kept?.length === rule.conditions?.length ? rule : { ...rule, conditions: kept };
    });
    return rules.every((rule, at) => rule === this.rules[at]) ? this : new RuleSet([], { ...this.#limited, rules });
  }

  /**
   * What follows for a node: the least set of labels that the rules are content with, so that rules in a circle do not
   * keep each other up. `labels` are those that the node would have without rollcall; one that a rule gives as well
   * keeps its value. `undecided`: labels that may still come.
   */
  evaluate(
    labels: Readonly<Record<string, string>>,
    inventory: Inventory,
    undecided: Undecided = NOTHING_UNDECIDED,
  ): Implications {
    return this.#implications(this.#judge(labels, inventory, undecided).found);
  }

  /** Each line of the rule for a label, for the same node; `undefined` if there is no such rule. */
  explain(
    label: string,
    labels: Readonly<Record<string, string>>,
    inventory: Inventory,
    undecided: Undecided,
  ): { file: string; lines: JudgedLine[] } | undefined {
    const rule = this.rules[this.#byLabel.get(label) ?? -1];
    return rule && { file: rule.file, lines: judgeLines(rule, this.#judge(labels, inventory, undecided).inputs) };
  }

  #judge(
    labels: Readonly<Record<string, string>>,
    inventory: Inventory,
    undecided: Undecided,
  ): { found: readonly Found[]; inputs: RuleInputs } {
    const matched = this.#matchedIn(labels);
    const found: Found[] = this.rules.map(() => NOT_IMPLIED);
    const derived = (label: string) => found[this.#byLabel.get(label) ?? -1];
    const inputs: RuleInputs = {
      labels,
      inventory,
      undecided,
      matched: (glob: string) => matched.get(glob) ?? NO_LABELS,
      derivedMatching: (glob: string) => this.#derivedMatching(glob),
      derived,
    };
    for (const group of this.#graph.groups) this.#judgeGroup(group, found, inputs);
    return { found, inputs };
  }

  /** The labels of rules that ask for one of these labels, or build on such. */
  dependents(labels: Iterable<string>): ReadonlySet<string> {
    const reached = new Set<number>();
    const reach = (rule: number) => {
      if (reached.has(rule)) return;
      reached.add(rule);
      for (const next of this.#graph.dependents[rule] ?? []) reach(next);
    };
    for (const label of labels)
      for (const key of [label, ...this.#globsFor(label)]) for (const rule of this.#asking.get(key) ?? []) reach(rule);
    return new Set([...reached].map((rule) => this.rules[rule]?.label ?? ''));
  }

  /**
   * Evaluates rules that build on each other in a circle until nothing changes. Results only become surer, which ends
   * the loop.
   */
  #judgeGroup(rules: readonly number[], found: Found[], inputs: RuleInputs): void {
    const open = new Set(rules);
    const within = new Set(rules);
    for (const rule of open) {
      open.delete(rule);
      const before = found[rule] ?? NOT_IMPLIED;
      const now = judgeRule(this.#graph.rules[rule] as Rule, inputs);
      if (SURENESS[now.truth] < SURENESS[before.truth]) continue;
      found[rule] = now;
      if (now.truth === before.truth) continue;
      for (const next of this.#graph.dependents[rule] ?? []) if (within.has(next)) open.add(next);
    }
  }

  #implications(found: readonly Found[]): Implications {
    const implied = new Map<string, { value: string; reason: string }>();
    const unknown = new Map<string, string>();
    for (const [rule, { truth, values, reason }] of found.entries()) {
      const { label } = this.rules[rule] as Rule;
      const [value, ...others] = values;
      if (truth === 'yes' && value !== undefined && others.length === 0) implied.set(label, { value, reason });
      else if (truth !== 'no') unknown.set(label, reason);
    }
    return { implied, unknown };
  }

  /** The labels of a node that match each pattern. */
  #matchedIn(labels: Readonly<Record<string, string>>): Map<string, string[]> {
    const matched = new Map<string, string[]>();
    if (this.#limited.matches.size === 0) return matched;
    for (const key of Object.keys(labels)) {
      for (const glob of this.#globsFor(key)) {
        const keys = matched.get(glob);
        if (keys) keys.push(key);
        else matched.set(glob, [key]);
      }
    }
    return matched;
  }

  #globsFor(key: string): readonly string[] {
    const known = this.#matchedByKey.get(key);
    if (known) return known;
    const globs = [...this.#limited.matches.keys()].filter((glob) => globMatches(glob, key));
    if (this.#matchedByKey.size >= MATCHED_KEYS_MAX) this.#matchedByKey.clear();
    this.#matchedByKey.set(key, globs);
    return globs;
  }

  readonly #derivedByGlob = new Map<string, readonly string[]>();

  #derivedMatching(glob: string): readonly string[] {
    const known = this.#derivedByGlob.get(glob);
    if (known) return known;
    const labels = [...(this.#limited.matches.get(glob) ?? NO_LABELS)].filter((label) => this.labels.has(label));
    this.#derivedByGlob.set(glob, labels);
    return labels;
  }

  /**
   * Reports the questions beyond the maximum. They are never answered, so labels that depend on them stay as they are.
   */
  #unasked(questions: readonly string[]): RuleProblem[] {
    if (questions.length === 0) return [];
    const rule = this.rules.find((each) => termsOf(each).some((predicate) => questionOf(predicate) === questions[0]));
    const problem = `requires ${questions[0]}: all rules together can use at most ${QUESTIONS_MAX} modules, flags and features`;
    return [{ file: rule?.file ?? '', problem }];
  }
}

function linesOf({ conditions }: Rule): string {
  return conditions?.map(({ text }) => text).join('\n') ?? 'unread';
}

function termsOf({ conditions = [] }: Rule): Predicate[] {
  return conditions.flatMap(({ literals }) => literals.map(({ predicate }) => predicate));
}
