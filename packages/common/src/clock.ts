/** Time as a dependency, so that everything that waits can be tested without waiting. */
export interface Clock {
  /** Wall clock in milliseconds since the epoch: for what people read and what is stored, never for durations. */
  now(): number;
  /** Milliseconds that only ever grow, whatever happens to the wall clock: for durations and deadlines. */
  monotonic(): number;
  /** Calls `callback` once, after `delayMs`. Returns what cancels it. Does not keep the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** A point in time, read from both clocks. Only differences of `monotonicMs` are durations. */
export type Moment = { monotonicMs: number; wallMs: number };

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
}

/** More than slewing and a drift of some percent make of a few seconds, and less than an election has to spare. */
const CLOCKS_APART_MS = 1000;

/**
 * Whether the wall clock and the monotonic clock differ by more than a second about how much time has passed since
 * `since`. The machine was suspended meanwhile, which CLOCK_MONOTONIC does not count, or the wall clock was set.
 */
export function haveClocksParted(clock: Clock, since: Moment): boolean {
  const wallMs = clock.now() - since.wallMs;
  const monotonicMs = clock.monotonic() - since.monotonicMs;
  return Math.abs(wallMs - monotonicMs) > CLOCKS_APART_MS;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Calls back again and again, `periodMs` after the call before, until `signal` aborts. */
export function every(clock: Clock, periodMs: number, signal: AbortSignal, callback: () => void): void {
  let cancel = () => {};
  const wait = () => {
    cancel = clock.after(periodMs, () => {
      wait();
      callback();
    });
  };
  if (signal.aborted) return;
  wait();
  signal.addEventListener('abort', () => cancel(), { once: true });
}

/** Waits `delayMs`, or until `signal` aborts. Resolves either way: the caller's loop looks at the signal. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(delayMs, finish);
    signal.addEventListener('abort', finish, { once: true });
  });
}
