import { globMatches, isGlob } from '../../model/inventory/glob.ts';
import type { Inventory } from '../../model/inventory/inventory.ts';
import { type Predicate, questionOf } from '../../model/inventory/predicate.ts';
import { type Found, judgeRule, NOT_IMPLIED, type RuleInputs } from './judge-rule.ts';
import type { RuleProblem } from './parse-rule-file.ts';
import { graphOf, type Rule, type RuleGraph } from './rule-graph.ts';

/** The result of the rules for one node. A label of a rule that is in neither map is not implied. */
export type Implications = {
  /** Labels with their values and the reason, one clause for people that names file, line and what was found. */
  implied: ReadonlyMap<string, { value: string; reason: string }>;
  /** Labels that are unknown now, with the reason; they stay as they are. */
  unknown: ReadonlyMap<string, string>;
};

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
  readonly #globs: readonly string[];
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

  /** No two rules are to have the same label. */
  constructor(rules: Iterable<Rule>) {
    this.rules = [...rules].sort((a, b) => (a.label < b.label ? -1 : 1));
    this.#graph = graphOf(this.rules);
    this.#byLabel = new Map(this.rules.map(({ label }, rule) => [label, rule]));
    this.labels = new Map(
      this.rules.flatMap((rule) => (rule.conditions?.length === 0 ? [] : [[rule.label, linesOf(rule)]])),
    );
    const predicates = this.rules.flatMap(termsOf);
    this.#globs = [
      ...new Set(
        predicates.flatMap((predicate) => (predicate.kind === 'label' && isGlob(predicate.key) ? [predicate.key] : [])),
      ),
    ];
    const namesOf = (kind: 'declared' | 'nfd') => [
      ...new Set(predicates.flatMap((predicate) => (predicate.kind === kind ? [predicate.name] : []))),
    ];
    this.declaredFeatures = namesOf('declared').sort();
    this.needsWholeNodes = this.declaredFeatures.length > 0 || predicates.some(({ kind }) => kind === 'resource');
    this.usesDra = predicates.some(({ kind }) => kind === 'dra');
    this.nfdNames = namesOf('nfd').sort();
    const questions = [...new Set(predicates.flatMap((predicate) => questionOf(predicate) ?? []))].sort();
    this.questions = questions.slice(0, QUESTIONS_MAX);
    const problems = [...this.#graph.problems, ...this.#unasked(questions.slice(QUESTIONS_MAX))];
    this.problems = problems.sort((a, b) => (a.file < b.file ? -1 : Number(a.file > b.file)));
  }

  /**
   * What follows for a node: the least set of labels that the rules are content with, so that rules in a circle do not
   * keep each other up. `labels` are those that the node would have without rollcall; one that a rule gives as well
   * keeps its value.
   */
  evaluate(labels: Readonly<Record<string, string>>, inventory: Inventory): Implications {
    const matched = this.#matchedIn(labels);
    const found: Found[] = this.rules.map(() => NOT_IMPLIED);
    const derived = (label: string) => found[this.#byLabel.get(label) ?? -1];
    const inputs: RuleInputs = {
      labels,
      inventory,
      matched: (glob: string) => matched.get(glob) ?? NO_LABELS,
      derivedMatching: (glob: string) => this.#derivedMatching(glob),
      derived,
    };
    for (const group of this.#graph.groups) this.#judgeGroup(group, found, inputs);
    return this.#implications(found);
  }

  /** The labels of rules that ask for one of these labels, or build on such. */
  dependents(labels: Iterable<string>): ReadonlySet<string> {
    const reached = new Set<number>();
    const reach = (rule: number) => {
      if (reached.has(rule)) return;
      reached.add(rule);
      for (const next of this.#graph.dependents[rule] ?? []) reach(next);
    };
    const asked = new Set(labels);
    for (const [rule, each] of this.rules.entries()) {
      const asks = termsOf(each).some(
        (predicate) => predicate.kind === 'label' && [...asked].some((label) => isAsked(predicate, label)),
      );
      if (asks) reach(rule);
    }
    return new Set([...reached].map((rule) => this.rules[rule]?.label ?? ''));
  }

  /**
   * Evaluates rules that build on each other in a circle until nothing changes. Results only become surer, which ends
   * the loop.
   */
  #judgeGroup(rules: readonly number[], found: Found[], inputs: RuleInputs): void {
    const open = new Set(rules);
    for (const rule of open) {
      open.delete(rule);
      const before = found[rule] ?? NOT_IMPLIED;
      const now = judgeRule(this.#graph.rules[rule] as Rule, inputs);
      if (SURENESS[now.truth] < SURENESS[before.truth]) continue;
      found[rule] = now;
      if (now.truth === before.truth) continue;
      for (const next of this.#graph.dependents[rule] ?? []) if (rules.includes(next)) open.add(next);
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
    if (this.#globs.length === 0) return matched;
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
    const globs = this.#globs.filter((glob) => globMatches(glob, key));
    if (this.#matchedByKey.size >= MATCHED_KEYS_MAX) this.#matchedByKey.clear();
    this.#matchedByKey.set(key, globs);
    return globs;
  }

  readonly #derivedByGlob = new Map<string, readonly string[]>();

  #derivedMatching(glob: string): readonly string[] {
    const known = this.#derivedByGlob.get(glob);
    if (known) return known;
    const labels = [...this.labels.keys()].filter((label) => globMatches(glob, label));
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

function isAsked({ key }: { key: string }, label: string): boolean {
  return isGlob(key) ? globMatches(key, label) : key === label;
}
