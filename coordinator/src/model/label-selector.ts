import type { LabelRequirement, LabelSelector } from '@rollcall/common/checks/label-selector.ts';

export type { LabelSelector };

type Labels = Readonly<Record<string, string>>;

/** A selector that was not given selects everything, too. */
export function selects(selector: LabelSelector | undefined, labels: Labels): boolean {
  return requirementsOf(selector).every((requirement) => isMet(requirement, labels));
}

/**
 * The same, where labels may still come to the node: why it is unknown whether the selector selects it, if it is. A label
 * that is there decides at once.
 */
export function selectsYet(
  selector: LabelSelector | undefined,
  labels: Labels,
  undecided: (key: string) => string | undefined,
): boolean | { unknown: string } {
  let unknown: string | undefined;
  for (const requirement of requirementsOf(selector)) {
    const doubt = Object.hasOwn(labels, requirement.key) ? undefined : undecided(requirement.key);
    if (doubt !== undefined) unknown ??= `${requirement.key} is not decided: ${doubt}`;
    else if (!isMet(requirement, labels)) return false;
  }
  return unknown === undefined ? true : { unknown };
}

/** The keys that a selector looks at. */
export function keysOfSelector(selector: LabelSelector | undefined): string[] {
  return requirementsOf(selector).map(({ key }) => key);
}

/** As the API server takes it in a query; '' for one that selects everything. */
export function formatSelector(selector: LabelSelector): string {
  return requirementsOf(selector).map(formatRequirement).join(',');
}

/**
 * A selector that selects all that these select, to be watched with, as a query: exact where there is one, or where all
 * ask for a value of the same key alone; else it selects everything.
 */
export function formatUnion(selectors: readonly LabelSelector[]): string {
  const [first, ...others] = selectors;
  const texts = new Set(selectors.map(formatSelector));
  if (!first || texts.size === 1) return [...texts][0] ?? '';
  const [wanted, ...more] = requirementsOf(first);
  if (!wanted || more.length > 0) return '';
  const values = new Set<string>();
  for (const selector of [first, ...others]) {
    const [requirement, ...rest] = requirementsOf(selector);
    if (rest.length > 0 || requirement?.operator !== 'In' || requirement.key !== wanted.key) return '';
    for (const value of requirement.values ?? []) values.add(value);
  }
  return `${wanted.key} in (${[...values].join(',')})`;
}

/** Selectors are not changed, and the same few are asked about every node and pod. */
const known = new WeakMap<LabelSelector, readonly LabelRequirement[]>();
const NOTHING: readonly LabelRequirement[] = [];

/** All that a selector asks for. */
export function requirementsOf(selector: LabelSelector | undefined): readonly LabelRequirement[] {
  if (selector === undefined) return NOTHING;
  const before = known.get(selector);
  if (before) return before;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const labels = Object.entries(matchLabels).map(
    ([key, value]): LabelRequirement => ({ key, operator: 'In', values: [value] }),
  );
  const requirements = [...labels, ...matchExpressions];
  known.set(selector, requirements);
  return requirements;
}

/** As Kubernetes has it, what is not there is in no list. */
export function isMet({ key, operator, values = [] }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const isListed = value !== undefined && values.includes(value);
  return operator === 'In' ? isListed : !isListed;
}

/** One term, as the API server takes it in a query. */
export function formatRequirement({ key, operator, values = [] }: LabelRequirement): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `!${key}`;
  const [first] = values;
  if (operator === 'In' && values.length === 1) return `${key}=${first}`;
  return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
}

type Requirement = NonNullable<LabelSelector['matchExpressions']>[number];

const KEY = '((?:[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)';
const VALUE = '((?:[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?)';
const EQUALITY = new RegExp(`^${KEY}\\s*(==?|!=)\\s*${VALUE}$`);
const SET = new RegExp(`^${KEY}\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const EXISTENCE = new RegExp(`^(!?)\\s*${KEY}$`);
const IS_VALUE = new RegExp(`^${VALUE}$`);

/** A label selector as kubectl takes it, such as `app=build,tier in (a,b),!old`; `undefined` for what is none. */
export function parseSelector(text: string): LabelSelector | undefined {
  // A comma within parentheses separates values.
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  const matchExpressions = parts.map(parseRequirement);
  return matchExpressions.every((each) => each !== undefined) ? { matchExpressions } : undefined;
}

function parseRequirement(text: string): Requirement | undefined {
  const [, key = '', sign, value = ''] = EQUALITY.exec(text) ?? [];
  if (sign !== undefined) return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  const [, member = '', word, list = ''] = SET.exec(text) ?? [];
  if (word !== undefined) {
    const values = list.split(',').map((each) => each.trim());
    if (!values.every((each) => IS_VALUE.test(each))) return undefined;
    return { key: member, operator: word === 'in' ? 'In' : 'NotIn', values };
  }
  const [, not, name] = EXISTENCE.exec(text) ?? [];
  return name === undefined ? undefined : { key: name, operator: not === '!' ? 'DoesNotExist' : 'Exists' };
}

/** For an option: why this is no label selector, if it is none. */
export function checkSelector(text: string): string | undefined {
  return parseSelector(text) ? undefined : 'must be a label selector, such as app=build,tier in (a,b)';
}
