import type { Clock } from '@rollcall/common/clock.ts';

/** The console answers within milliseconds; a port-forward that hangs never does. */
const TIMEOUT_MS = 15_000;

/** Reads a document of the console that this page came from. Rejects with a sentence for people. */
export async function ask<T>(path: string, clock: Clock, signal: AbortSignal): Promise<T> {
  const timeout = new AbortController();
  const cancel = clock.after(TIMEOUT_MS, () => timeout.abort());
  try {
    const response = await fetch(path, { signal: AbortSignal.any([signal, timeout.signal]), cache: 'no-store' });
    if (response.status === 404) throw new Error('The coordinator does not know it (any more)');
    if (!response.ok) throw new Error(`The coordinator answered ${response.status}`);
    return (await response.json()) as T;
  } catch (error) {
    throw timeout.signal.aborted ? new Error('The coordinator did not answer in time', { cause: error }) : error;
  } finally {
    cancel();
  }
}

/** What went wrong, in a sentence; browsers say no more than that they could not fetch. */
export function sentenceOf(error: unknown): string {
  if (error instanceof TypeError) return 'The coordinator cannot be reached';
  return error instanceof Error ? error.message : String(error);
}
