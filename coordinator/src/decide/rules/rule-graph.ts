import { globMatches, isGlob } from '../../model/inventory/glob.ts';
import type { Predicate } from '../../model/inventory/predicate.ts';
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

/**
 * A circle of rules holds by what is outside of it alone. That has one meaning as long as more labels never mean fewer:
 * a line that asks for the contrary of what it is part of, or for the value of a label that has several, is left out.
 */
export function graphOf(given: readonly Rule[]): RuleGraph {
  const dependents = dependentsOf(given);
  const problems: RuleProblem[] = [];
  const rules = [...given];
  const groups = components(dependents);
  for (const group of groups) {
    const isCircle = group.some((rule) => dependents[rule]?.some((next) => group.includes(next)));
    if (!isCircle) continue;
    const own = group.flatMap((rule) => given[rule] ?? []);
    problems.push(circleProblem(own));
    for (const rule of group) {
      const { kept, left } = withoutContrary(given[rule] as Rule, own);
      rules[rule] = kept;
      problems.push(...left);
    }
  }
  return { groups, rules, dependents, problems };
}

/**
 * For each rule, the rules that ask for its label. A pattern that matches the label of its own file is meant for the
 * others.
 */
function dependentsOf(rules: readonly Rule[]): number[][] {
  const byLabel = new Map(rules.map(({ label }, rule) => [label, rule]));
  const dependents = rules.map(() => new Set<number>());
  for (const [asking, { conditions = [] }] of rules.entries()) {
    for (const predicate of conditions.flatMap(({ literals }) => literals.map((each) => each.predicate))) {
      if (predicate.kind !== 'label') continue;
      if (!isGlob(predicate.key)) dependents[byLabel.get(predicate.key) ?? -1]?.add(asking);
      else
        for (const [rule] of rules.entries())
          if (asksFor(predicate, rules, rule, asking)) dependents[rule]?.add(asking);
    }
  }
  return dependents.map((each) => [...each]);
}

function asksFor(predicate: { key: string }, rules: readonly Rule[], rule: number, asking: number): boolean {
  return rule !== asking && globMatches(predicate.key, rules[rule]?.label ?? '');
}

function withoutContrary(rule: Rule, circle: readonly Rule[]): { kept: Rule; left: RuleProblem[] } {
  const left: RuleProblem[] = [];
  const conditions = rule.conditions?.filter(({ line, literals }) => {
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
function isContrary({ predicate, isNegated }: Literal, asking: Rule, circle: readonly Rule[]): boolean {
  if (predicate.kind !== 'label') return false;
  const asked = circle.filter((rule) => isAskedBy(predicate, rule, asking));
  return asked.length > 0 && (isNegated || (predicate.test !== undefined && asked.some(hasSeveralValues)));
}

function isAskedBy({ key }: Extract<Predicate, { kind: 'label' }>, rule: Rule, asking: Rule): boolean {
  return isGlob(key) ? rule !== asking && globMatches(key, rule.label) : key === rule.label;
}

function hasSeveralValues({ conditions = [] }: Rule): boolean {
  return new Set(conditions.map(({ value }) => value)).size > 1;
}

function circleProblem(circle: readonly Rule[]): RuleProblem {
  const labels = circle.map(({ label }) => label);
  const named = labels.slice(0, NAMED_IN_CYCLE_MAX).join(', ');
  const more = labels.length > NAMED_IN_CYCLE_MAX ? ` and ${labels.length - NAMED_IN_CYCLE_MAX} more` : '';
  const problem =
    labels.length === 1
      ? `${named} requires itself; that line never applies`
      : `${named}${more} depend on each other in a cycle; only lines outside of the cycle apply`;
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
