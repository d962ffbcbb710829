import { vi } from 'vitest';
import { ProbeTimeout } from '../probe.ts';

/** A signal as a probe gets it from its monitor: aborted with ProbeTimeout after `limitMs`. */
export function within(limitMs: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new ProbeTimeout(limitMs)), limitMs).unref();
  return controller.signal;
}

/** Waits until `assertion` no longer throws, and throws what it throws when that takes more than 20 s. */
export function eventually(assertion: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(assertion, { timeout: 20_000, interval: 5 });
}
