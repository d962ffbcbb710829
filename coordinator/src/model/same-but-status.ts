import { isDeepStrictEqual } from 'node:util';

/** Whether two readings of an object differ in nothing but the status, if it has one, which no user writes. */
export function isSameButStatus(before: object, next: object): boolean {
  return isDeepStrictEqual({ ...before, status: undefined }, { ...next, status: undefined });
}
