import { type Condition, type LabelCondition, valueMatches } from './condition.ts';
import { findCycles } from './cycles.ts';
import { globMatches, isGlob } from './glob.ts';

/** What one file says. */
export type Rule = {
  label: string;
  /** Relative to the label directory. */
  file: string;
  /** Any of them implies the label; `undefined` while nobody knows what the file says. */
  conditions: readonly Condition[] | undefined;
};

/** A condition with the number of its rule. */
export type Line<T = Condition> = { rule: number; condition: T };

type LabelLine = Line<Condition & LabelCondition>;

/** The value of every derived label. */
const DERIVED_VALUE = 'true';

const NO_LINES: readonly LabelLine[] = [];
const MATCHED_KEYS_MAX = 10_000;

/** The lines of all rules by what they ask for, so that a node's labels find the lines that they fulfil. */
export class RuleIndex {
  readonly #byKey = new Map<string, LabelLine[]>();
  readonly #globs: LabelLine[] = [];
  /** The nodes of a fleet have mostly the same keys, so that each is held against all patterns once. */
  readonly #matchedByKey = new Map<string, readonly LabelLine[]>();
  readonly byResource: ReadonlyMap<string, readonly Line[]>;
  /** For each rule the lines that its label fulfils. */
  readonly dependents: readonly (readonly Line[])[];

  constructor(rules: readonly Rule[]) {
    const byResource = new Map<string, Line[]>();
    for (const [rule, { conditions = [] }] of rules.entries()) {
      for (const condition of conditions) {
        if (condition.kind === 'resource') append(byResource, condition.name, { rule, condition });
        else if (isGlob(condition.key)) this.#globs.push({ rule, condition });
        else append(this.#byKey, condition.key, { rule, condition });
      }
    }
    this.byResource = byResource;
    this.dependents = rules.map(({ label }) => {
      const lines: Line[] = [];
      this.eachFulfilled(label, DERIVED_VALUE, (line) => lines.push(line));
      return lines;
    });
  }

  /** Calls back for every line that a label fulfils. */
  eachFulfilled(key: string, value: string, callback: (line: Line) => void): void {
    for (const line of this.#linesFor(key)) if (valueMatches(line.condition, value)) callback(line);
  }

  #linesFor(key: string): readonly LabelLine[] {
    const exact = this.#byKey.get(key) ?? NO_LINES;
    if (this.#globs.length === 0) return exact;
    let matched = this.#matchedByKey.get(key);
    if (!matched) {
      matched = [...exact, ...this.#globs.filter(({ condition }) => globMatches(condition.key, key))];
      if (this.#matchedByKey.size >= MATCHED_KEYS_MAX) this.#matchedByKey.clear();
      this.#matchedByKey.set(key, matched);
    }
    return matched;
  }

  /**
   * Rules that build on each other in a circle, as ascending numbers. A pattern that matches its own label is none: it
   * is meant for the others.
   */
  cycles(): number[][] {
    const edges = this.dependents.map((lines, from) =>
      lines.filter(({ rule, condition }) => rule !== from || !isPattern(condition)).map(({ rule }) => rule),
    );
    return findCycles(edges);
  }
}

function isPattern(condition: Condition): boolean {
  return condition.kind === 'label' && isGlob(condition.key);
}

function append<T>(map: Map<string, T[]>, key: string, item: T): void {
  const list = map.get(key);
  if (list) list.push(item);
  else map.set(key, [item]);
}
