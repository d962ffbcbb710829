import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

export interface WaitOptions {
  /** Defaults to 10 s. */
  readonly timeoutMs?: number;
  /** Defaults to a tenth of the time waited so far, from 25 to 200 ms: each check uses the CPU that all tests share. */
  readonly everyMs?: number;
}

/**
 * Calls `check` until it gives something other than `undefined`, `null` or `false`, and returns that. A check that
 * throws counts as not yet. @throws naming what was waited for, with the last value or error, when the time is up.
 */
export async function waitFor<T>(
  description: string,
  check: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<NonNullable<T>> {
  const timeoutMs = options.timeoutMs ?? 10_000;
  const startMs = Date.now();
  const deadline = startMs + timeoutMs;
  for (;;) {
    let last: unknown;
    let cause: unknown;
    try {
      const value = await check();
      if (value !== undefined && value !== null && value !== false) return value;
      last = value;
    } catch (error) {
      cause = error;
    }
    if (Date.now() >= deadline) {
      const seen = cause === undefined ? `last value: ${inspect(last, { depth: 4 })}` : `last error: ${String(cause)}`;
      throw new Error(`waited ${timeoutMs} ms for ${description}; ${seen}`, cause === undefined ? {} : { cause });
    }
    await sleep(options.everyMs ?? Math.min(Math.max((Date.now() - startMs) / 10, 25), 200));
  }
}
