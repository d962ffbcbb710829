import { isDeepStrictEqual } from 'node:util';

/** Whether two readings of an object differ in nothing but the status, which no user writes. */
export function isSameButStatus<T extends { status: unknown }>(before: T | undefined, next: T): boolean {
  return before !== undefined && isDeepStrictEqual({ ...before, status: next.status }, next);
}
