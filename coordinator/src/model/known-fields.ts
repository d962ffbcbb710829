import { isDeepStrictEqual } from 'node:util';
import { durationMs } from './duration.ts';

/** Returns the path of a field that is missing or not known, or has a value that is not; `undefined` if there is none. */
export type Check = (value: unknown, path: string) => string | undefined;

/** Accepts every value: the API server checked it, or it changes nothing here. */
export const any: Check = () => undefined;

export const text: Check = (value, path) => (typeof value === 'string' ? undefined : path);

/** Checks an object that has these fields, may have the optional ones, and no others. */
export function objectOf(required: Record<string, Check>, optional: Record<string, Check> = {}): Check {
  const known = { ...required, ...optional };
  return (value, path) => {
    if (!isObject(value)) return path;
    const unknown = Object.keys(value).find((field) => !Object.hasOwn(known, field));
    if (unknown !== undefined) return `${path}.${unknown}`;
    return firstOf(Object.entries(known), ([field, check]) =>
      value[field] === undefined && !Object.hasOwn(required, field)
        ? undefined
        : check(value[field], `${path}.${field}`),
    );
  };
}

export function oneOf(...known: readonly string[]): Check {
  return (value, path) => (known.includes(value as string) ? undefined : path);
}

export function listOf(check: Check): Check {
  return (value, path) =>
    Array.isArray(value) ? firstOf(value, (each, index) => check(each, `${path}[${index}]`)) : path;
}

/** A duration such as `10s`. */
export const duration: Check = (value, path) =>
  typeof value === 'string' && durationMs(value) !== undefined ? undefined : path;

const texts: Check = (value, path) => (Array.isArray(value) ? firstOf(value, (each) => text(each, path)) : path);
const labels: Check = (value, path) =>
  isObject(value) ? firstOf(Object.values(value), (each) => text(each, path)) : path;
const requirement = objectOf(
  { key: text, operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist') },
  { values: texts },
);

export const labelSelector = objectOf({}, { matchLabels: labels, matchExpressions: listOf(requirement) });

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function firstOf<T>(values: readonly T[], check: (value: T, index: number) => string | undefined): string | undefined {
  for (const [index, value] of values.entries()) {
    const found = check(value, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether two readings of an object differ in nothing but the status, which no user writes. */
export function isSameButStatus<T extends { status: unknown }>(before: T | undefined, next: T): boolean {
  return before !== undefined && isDeepStrictEqual({ ...before, status: next.status }, next);
}
