import { isGlob } from '../../model/inventory/glob.ts';
import type { Condition, Literal, RuleProblem } from './parse-rule-file.ts';

/** The content of one file. */
export type Rule = {
  label: string;
  /** Relative to the label directory. */
  file: string;
  /** Any of them implies the label; `undefined` while the content of the file is unknown. */
  conditions: readonly Condition[] | undefined;
};

const NAMED_IN_CYCLE_MAX = 10;

/** The dependencies between rules, and the order of their evaluation. */
export type RuleGraph = {
  /** Groups of rules, by number: each group builds on those before it alone, and on itself where it is a circle. */
  groups: readonly (readonly number[])[];
  /** The rules without the lines that can never count. */
  rules: readonly Rule[];
  /** The rules that build on each rule, by number. */
  dependents: readonly (readonly number[])[];
  problems: readonly RuleProblem[];
};

/** Work of evaluating a circle: labels that a rule of it asks for, as often as one of those in the circle changes. */
const CIRCLE_WORK_MAX = 200_000;

/**
 * A circle of rules holds by what is outside of it alone. That has one meaning as long as more labels never mean fewer:
 * a line that asks for the contrary of what it is part of, or for the value of a label that has several, is left out; so
 * are all lines that ask for labels of a circle that would take too long. `matches` has the labels that match each pattern.
 */
export function graphOf(given: readonly Rule[], matches: Matches): RuleGraph {
  const dependents = dependentsOf(given, matches);
  const problems: RuleProblem[] = [];
  const rules = [...given];
  const groups = components(dependents);
  for (const group of groups) {
    const within = new Set(group);
    const sizes = new Map(group.map((rule) => [rule, sizeOf(given[rule] as Rule, matches)]));
    const edges = group.flatMap((rule) => dependents[rule]?.filter((next) => within.has(next)) ?? []);
    if (edges.length === 0) continue;
    const own = group.flatMap((rule) => given[rule] ?? []);
    const isTooLarge = edges.reduce((sum, next) => sum + (sizes.get(next) ?? 0), 0) > CIRCLE_WORK_MAX;
    problems.push(circleProblem(own, isTooLarge));
    const circle = circleOf(own, matches);
    for (const rule of group) {
      const { kept, left } = withoutContrary(given[rule] as Rule, circle, isTooLarge);
      rules[rule] = kept;
      problems.push(...left);
    }
  }
  return { groups, rules, dependents, problems };
}

function sizeOf({ conditions = [] }: Rule, matches: Matches): number {
  const literals = conditions.flatMap((condition) => condition.literals);
  return literals.reduce((sum, { predicate }) => {
    return sum + 1 + ((predicate.kind === 'label' && matches.get(predicate.key)?.size) || 0);
  }, 0);
}

type Matches = ReadonlyMap<string, ReadonlySet<string>>;
const NO_LABELS: ReadonlySet<string> = new Set();

/**
 * For each rule, the rules that ask for its label. A pattern that matches the label of its own file is meant for the
 * others.
 */
function dependentsOf(rules: readonly Rule[], matches: Matches): number[][] {
  const byLabel = new Map(rules.map(({ label }, rule) => [label, rule]));
  const dependents = rules.map(() => new Set<number>());
  for (const [asking, { label: own, conditions = [] }] of rules.entries()) {
    for (const predicate of conditions.flatMap(({ literals }) => literals.map((each) => each.predicate))) {
      if (predicate.kind !== 'label') continue;
      if (!isGlob(predicate.key)) dependents[byLabel.get(predicate.key) ?? -1]?.add(asking);
      else
        for (const label of matches.get(predicate.key) ?? NO_LABELS)
          if (label !== own) dependents[byLabel.get(label) ?? -1]?.add(asking);
    }
  }
  return dependents.map((each) => [...each]);
}

/** The labels of a circle that a predicate of a rule asks for; of those, which have several values. */
type Circle = { asked: (key: string, own: string) => readonly string[]; several: ReadonlySet<string> };

function circleOf(rules: readonly Rule[], matches: Matches): Circle {
  const labels = new Set(rules.map(({ label }) => label));
  const ofGlob = new Map<string, readonly string[]>();
  const matchedBy = (glob: string) => {
    const found = ofGlob.get(glob) ?? [...(matches.get(glob) ?? NO_LABELS)].filter((label) => labels.has(label));
    ofGlob.set(glob, found);
    return found;
  };
  return {
    asked: (key, own) => {
      if (isGlob(key)) return matchedBy(key).filter((label) => label !== own);
      return labels.has(key) ? [key] : [];
    },
    several: new Set(rules.flatMap((rule) => (hasSeveralValues(rule) ? rule.label : []))),
  };
}

/** Leaves out the lines of a rule that ask for the contrary of its circle, or all that ask for it. */
function withoutContrary(rule: Rule, circle: Circle, isAll: boolean): { kept: Rule; left: RuleProblem[] } {
  const left: RuleProblem[] = [];
  const conditions = rule.conditions?.filter(({ line, literals }) => {
    if (isAll) return !literals.some((literal) => labelsAsked(literal, rule, circle).length > 0);
    const contrary = literals.find((literal) => isContrary(literal, rule, circle));
    if (!contrary) return true;
    const problem = contrary.isNegated
      ? 'requires the opposite of a label that depends on it; the line never applies'
      : 'requires one value of a label that depends on it and has several; the line never applies';
    left.push({ file: rule.file, line, problem });
    return false;
  });
  return { kept: { ...rule, conditions }, left };
}

/** Whether more labels in the circle could make a line no longer hold. */
function isContrary(literal: Literal, asking: Rule, circle: Circle): boolean {
  const { predicate, isNegated } = literal;
  const asked = labelsAsked(literal, asking, circle);
  if (asked.length === 0) return false;
  const isOfValue = predicate.kind === 'label' && predicate.test !== undefined;
  return isNegated || (isOfValue && asked.some((label) => circle.several.has(label)));
}

function labelsAsked({ predicate }: Literal, { label: own }: Rule, circle: Circle): readonly string[] {
  return predicate.kind === 'label' ? circle.asked(predicate.key, own) : [];
}

function hasSeveralValues({ conditions = [] }: Rule): boolean {
  return new Set(conditions.map(({ value }) => value)).size > 1;
}

function circleProblem(circle: readonly Rule[], isTooLarge: boolean): RuleProblem {
  const labels = circle.map(({ label }) => label);
  const named = labels.slice(0, NAMED_IN_CYCLE_MAX).join(', ');
  const more = labels.length > NAMED_IN_CYCLE_MAX ? ` and ${labels.length - NAMED_IN_CYCLE_MAX} more` : '';
  const problem =
    labels.length === 1
      ? `${named} requires itself; that line never applies`
      : `${named}${more} depend on each other in a cycle; only lines outside of the cycle apply${isTooLarge ? ', since it is too large to be followed' : ''}`;
  return { file: circle[0]?.file ?? '', problem };
}

/**
 * The groups of nodes of a graph that lead back to each other (its strongly connected components, by Tarjan's algorithm),
 * every node in one of them, in ascending order. A group comes after all that lead to it. `edges[node]` lists where a node
 * leads.
 */
export function components(edges: readonly (readonly number[])[]): number[][] {
  const groups: number[][] = [];
  const order = new Map<number, number>();
  const open: number[] = [];
  const isOpen = new Set<number>();

  /** The earliest open node that can be reached. */
  function visit(node: number): number {
    const mine = order.size;
    order.set(node, mine);
    open.push(node);
    isOpen.add(node);
    let earliest = mine;
    for (const next of edges[node] ?? []) {
      if (!order.has(next)) earliest = Math.min(earliest, visit(next));
      else if (isOpen.has(next)) earliest = Math.min(earliest, order.get(next) ?? mine);
    }
    if (earliest === mine) close(node);
    return earliest;
  }

  function close(node: number): void {
    const group = open.splice(open.lastIndexOf(node));
    for (const each of group) isOpen.delete(each);
    groups.push(group.sort((a, b) => a - b));
  }

  for (const node of edges.keys()) if (!order.has(node)) visit(node);
  // Each is closed after all that it leads to.
  return groups.reverse();
}
