import { isGlob } from '../../model/inventory/glob.ts';
import type { Inventory } from '../../model/inventory/inventory.ts';
import { comparesInteger, isOrder, type Predicate } from '../../model/inventory/predicate.ts';
import { answer, isAmong, type PredicateResult, type Truth } from '../../model/inventory/predicate-result.ts';
import type { Undecided } from '../../model/undecided.ts';
import type { Condition, Literal } from './parse-rule-file.ts';
import type { Rule } from './rule-graph.ts';

type LabelPredicate = Extract<Predicate, { kind: 'label' }>;
type LabelLiteral = Literal & { predicate: LabelPredicate };

/** The result of a rule: whether its label is implied, and why, as a clause. */
export type Found = {
  truth: Truth;
  /** The values that the label may have, if it is implied. */
  values: readonly string[] | 'any';
  reason: string;
};

/** The inputs that rules are evaluated with. */
export type RuleInputs = {
  labels: Readonly<Record<string, string>>;
  inventory: Inventory;
  /** Labels that the node may still get, those of rules apart. */
  undecided: Undecided;
  /** The labels of the node that match a pattern. */
  matched: (glob: string) => readonly string[];
  /** The labels of rules that match a pattern. */
  derivedMatching: (glob: string) => readonly string[];
  /** The result of the rule for a label so far; `undefined` if there is no such rule. */
  derived: (label: string) => Found | undefined;
};

export const NOT_IMPLIED: Found = { truth: 'no', values: [], reason: '' };

/** The label is implied when any line holds; the first that does gives the value. */
export function judgeRule({ label, file, conditions }: Rule, inputs: RuleInputs): Found {
  if (!conditions) return { truth: 'unknown', values: 'any', reason: `the content of ${file} is unknown` };
  const values = new Set<string>();
  let doubt: string | undefined;
  for (const condition of conditions) {
    const { truth, found } = judgeLine(condition, label, inputs);
    if (truth === 'no') continue;
    values.add(condition.value);
    const reason = reasonOf(file, condition, found);
    // An earlier line with an unknown result may give another value.
    if (truth === 'yes') return { truth, values: [...values], reason: values.size > 1 ? (doubt ?? reason) : reason };
    doubt ??= reason;
  }
  return doubt === undefined ? NOT_IMPLIED : { truth: 'unknown', values: [...values], reason: doubt };
}

/** A line of a rule for one node: the first of its terms that does not hold, or that is unknown, with what was found. */
export type JudgedLine = { line: number; text: string; truth: Truth; found: string; key?: string };

/** Every line, for people who ask why the label is not there. `key`: the label that a false term asks for. */
export function judgeLines({ label, conditions = [] }: Rule, inputs: RuleInputs): JudgedLine[] {
  return conditions.map(({ line, text, literals }) => {
    const judged = literals.map((literal) => ({ literal, ...judgeLiteral(literal, label, inputs) }));
    const decides = judged.find(({ truth }) => truth === 'no') ?? judged.find(({ truth }) => truth === 'unknown');
    if (!decides) return { line, text, truth: 'yes', found: judged.map(({ found }) => found).join(' and ') };
    const { literal, truth, found } = decides;
    if (literal.predicate.kind !== 'label') return { line, text, truth, found };
    const { key } = literal.predicate;
    const isAbsent = found === ABSENT.found;
    return { line, text, truth, found: isAbsent ? `the node has no ${key}` : found, key };
  });
}

function reasonOf(file: string, { line }: Condition, found: string): string {
  return `line ${line} of ${file}: ${found}`;
}

/** Every literal has to hold: one that does not decides first, then one that is unknown. */
function judgeLine({ literals }: Condition, own: string, inputs: RuleInputs): PredicateResult {
  const found: string[] = [];
  let doubt: string | undefined;
  for (const literal of literals) {
    const one = judgeLiteral(literal, own, inputs);
    if (one.truth === 'no') return one;
    if (one.truth === 'unknown') doubt ??= one.found;
    else found.push(one.found);
  }
  return doubt === undefined ? { truth: 'yes', found: found.join(' and ') } : { truth: 'unknown', found: doubt };
}

const CONTRARY = { yes: 'no', no: 'yes', unknown: 'unknown' } as const;

/** What agents alone see. */
const OF_AGENTS: readonly string[] = ['count', 'driver', 'module', 'cpu', 'fact'];

function judgeLiteral({ predicate, isNegated }: Literal, own: string, inputs: RuleInputs): PredicateResult {
  const one =
    predicate.kind === 'label'
      ? judgeLabel({ predicate, isNegated }, own, inputs)
      : answer(predicate, inputs.inventory);
  const isOver = inputs.undecided.isAgentless && one.truth === 'unknown' && OF_AGENTS.includes(predicate.kind);
  if (!isNegated) return isOver ? { truth: 'no', found: 'agents are switched off' } : one;
  const found = one === ABSENT && predicate.kind === 'label' ? `the node has no ${predicate.key}` : one.found;
  return { found, truth: CONTRARY[one.truth] };
}

/** The most common result. The text is created when it is needed. */
const ABSENT: PredicateResult = { truth: 'no', found: 'it is absent' };

function judgeLabel(literal: LabelLiteral, own: string, inputs: RuleInputs): PredicateResult {
  const { predicate, isNegated } = literal;
  if (!isGlob(predicate.key)) return judgeKey(literal, predicate.key, inputs);
  // A pattern that matches the label of its own file is meant for the others.
  const keys = [
    ...inputs.matched(predicate.key),
    ...inputs.derivedMatching(predicate.key).filter((key) => key !== own),
  ];
  const answers = keys.map((key) => judgeKey(literal, key, inputs));
  const found = answers.filter(({ truth }) => truth === 'yes').sort(byText)[0];
  const doubtful = answers.filter(({ truth }) => truth === 'unknown').sort(byText)[0];
  return found ?? doubtful ?? absent(predicate.key, inputs.undecided.matching(predicate.key, isNegated));
}

/** What is not there, unless it may still come. */
function absent(key: string, doubt: string | undefined): PredicateResult {
  return doubt === undefined ? ABSENT : { truth: 'unknown', found: `whether the node has ${key} is unknown: ${doubt}` };
}

/** Makes the reason independent of the order of labels. */
function byText(a: PredicateResult, b: PredicateResult): number {
  return a.found < b.found ? -1 : 1;
}

/** A label that is there keeps the value that it has, whatever a rule says. */
function judgeKey(
  { predicate: { test }, isNegated }: LabelLiteral,
  key: string,
  { labels, derived, undecided }: RuleInputs,
): PredicateResult {
  if (Object.hasOwn(labels, key)) {
    const value = labels[key] ?? '';
    return { truth: fulfils(test, value) ? 'yes' : 'no', found: `the node has ${key}=${value}` };
  }
  const rule = derived(key);
  if (!rule || rule.truth === 'no') return absent(key, undecided.label(key, isNegated));
  const is = test === undefined ? rule.truth : truthOf(test, rule);
  if (is === 'no') return { truth: is, found: `the node has no such ${key}` };
  if (is === 'unknown') return { truth: is, found: `whether the node has ${key} is unknown` };
  return { truth: is, found: `${key} is implied as well` };
}

/** Whether the value of a label that is implied, or may be, fulfils a test. */
function truthOf(test: NonNullable<LabelPredicate['test']>, { truth, values }: Found): Truth {
  if (values === 'any') return 'unknown';
  const fulfilling = values.filter((value) => fulfils(test, value)).length;
  if (fulfilling === 0) return 'no';
  return fulfilling === values.length ? truth : 'unknown';
}

function fulfils(test: LabelPredicate['test'], value: string): boolean {
  if (test === undefined) return true;
  return isOrder(test) ? comparesInteger(test, value) : isAmong(test, value);
}
