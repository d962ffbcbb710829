import type { LabelSelector } from './label-selector.ts';

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
