import type { RuleProblem } from './condition.ts';
import { isPositiveQuantity } from './quantity.ts';
import { type Line, type Rule, RuleIndex } from './rule-index.ts';

/** What the rules say of one node. A rule's label that is in neither is not implied. */
export type Implications = {
  /** Labels with the reason, one clause for people that names file, line and what holds. */
  implied: ReadonlyMap<string, string>;
  /** Labels of which nobody can tell now, with the reason: to be left as they are. */
  unknown: ReadonlyMap<string, string>;
};

/** Why a rule holds, or may: the line, or `WHOLE_FILE`, and in words what was found for it. */
type Finding = { line: number; found: string };
type Findings = Map<number, Finding>;

const WHOLE_FILE = 0;

const NAMED_IN_CYCLE_MAX = 10;

/** All rules, ready to be asked about nodes. Their order makes no difference. */
export class RuleSet {
  readonly #rules: readonly Rule[];
  readonly #index: RuleIndex;
  readonly #unread: readonly number[];
  /** Every label that some rule gives. */
  readonly labels: ReadonlySet<string>;
  /** Whether any line asks for a resource, so that what nodes have to allocate needs to be known. */
  readonly usesResources: boolean;
  /** Rules that build on each other in a circle. */
  readonly problems: readonly RuleProblem[];

  /** No two rules are to have the same label. */
  constructor(rules: Iterable<Rule>) {
    this.#rules = [...rules].sort((a, b) => (a.label < b.label ? -1 : 1));
    this.#index = new RuleIndex(this.#rules);
    this.#unread = [...this.#rules.keys()].filter((rule) => this.#rules[rule]?.conditions === undefined);
    this.labels = new Set(this.#rules.map(({ label }) => label));
    this.usesResources = this.#index.byResource.size > 0;
    this.problems = this.#index.cycles().map((cycle) => this.#cycleProblem(cycle));
  }

  /**
   * What follows for a node: the least set of labels that the rules are content with, so that rules in a circle do not
   * keep each other up. `labels` are those that the node would have without rollcall; one that a rule gives as well
   * keeps its value. `allocatable` is `undefined` where nobody knows: what depends on it is unknown then.
   */
  evaluate(
    labels: Readonly<Record<string, string>>,
    allocatable: Readonly<Record<string, string>> | undefined,
  ): Implications {
    const implied = this.#spread(this.#direct(labels, allocatable), new Map(), labels, 'is implied as well');
    const doubtful = this.#spread(this.#doubtful(allocatable, implied), implied, labels, 'may be there or not');
    return { implied: this.#byLabel(implied), unknown: this.#byLabel(doubtful) };
  }

  /** What holds by the node itself. */
  #direct(labels: Readonly<Record<string, string>>, allocatable: Readonly<Record<string, string>> = {}): Findings {
    const findings: Findings = new Map();
    for (const [key, value] of Object.entries(labels)) {
      this.#index.eachFulfilled(key, value, (line) => offer(findings, line, () => `the node has ${key}=${value}`));
    }
    for (const [name, quantity] of Object.entries(allocatable)) {
      const lines = isPositiveQuantity(quantity) ? this.#index.byResource.get(name) : undefined;
      for (const line of lines ?? []) offer(findings, line, () => `the node has ${quantity} of ${name} to allocate`);
    }
    return findings;
  }

  /** What would hold, or not, by what nobody knows now. */
  #doubtful(allocatable: Readonly<Record<string, string>> | undefined, implied: Findings): Findings {
    const findings: Findings = new Map();
    for (const rule of this.#unread) {
      findings.set(rule, { line: WHOLE_FILE, found: `nobody knows what ${this.#rules[rule]?.file} says` });
    }
    if (allocatable !== undefined) return findings;
    for (const [name, lines] of this.#index.byResource) {
      for (const line of lines) {
        if (!implied.has(line.rule)) offer(findings, line, () => `nobody knows how much the node has of ${name}`);
      }
    }
    return findings;
  }

  /** `seeds`, and all that follows from them, but for what is in `known`. */
  #spread(seeds: Findings, known: Findings, labels: Readonly<Record<string, string>>, how: string): Findings {
    const all = new Map(seeds);
    let front = seeds;
    while (front.size > 0) {
      const next: Findings = new Map();
      for (const from of front.keys()) {
        const label = this.#rules[from]?.label ?? '';
        // What is there already was looked at, with the value that it has.
        if (Object.hasOwn(labels, label)) continue;
        for (const line of this.#index.dependents[from] ?? []) {
          if (!all.has(line.rule) && !known.has(line.rule)) offer(next, line, () => `${label} ${how}`);
        }
      }
      for (const [rule, finding] of next) all.set(rule, finding);
      front = next;
    }
    return all;
  }

  #byLabel(findings: Findings): Map<string, string> {
    const reasons = new Map<string, string>();
    for (const rule of [...findings.keys()].sort((a, b) => a - b)) {
      const { label, file } = this.#rules[rule] as Rule;
      const { line, found } = findings.get(rule) as Finding;
      reasons.set(label, line === WHOLE_FILE ? found : `by line ${line} of ${file}, as ${found}`);
    }
    return reasons;
  }

  #cycleProblem(cycle: readonly number[]): RuleProblem {
    const labels = cycle.map((rule) => this.#rules[rule]?.label ?? '');
    const named = labels.slice(0, NAMED_IN_CYCLE_MAX).join(', ');
    const more = labels.length > NAMED_IN_CYCLE_MAX ? ` and ${labels.length - NAMED_IN_CYCLE_MAX} more` : '';
    const file = this.#rules[cycle[0] ?? 0]?.file ?? '';
    const problem =
      labels.length === 1
        ? `${named} asks for itself; that line never counts`
        : `${named}${more} build on each other in a circle; they hold only by other lines`;
    return { file, problem };
  }
}

/**
 * Keeps the first line of a rule that holds, and of several findings for it the first in alphabetical order, so that the
 * reason does not depend on the order of labels.
 */
function offer(findings: Findings, { rule, condition: { line } }: Line, describe: () => string): void {
  const best = findings.get(rule);
  if (best && best.line < line) return;
  const found = describe();
  if (best && best.line === line && best.found <= found) return;
  findings.set(rule, { line, found });
}
