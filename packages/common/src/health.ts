import type { Clock } from './clock.ts';

/** `undefined` when all is well, else why not. */
export type HealthCheck = () => string | undefined;

/** Named checks behind one endpoint, in the manner of the Kubernetes components' /healthz and /readyz. */
export class HealthChecks {
  readonly #checks = new Map<string, HealthCheck>();

  add(name: string, check: HealthCheck): void {
    this.#checks.set(name, check);
  }

  remove(name: string): void {
    this.#checks.delete(name);
  }

  /** The verdict on all checks, or on the one named; `undefined` when there is no check of that name. */
  evaluate(only?: string): { healthy: boolean; report: string } | undefined {
    const names = only === undefined ? [...this.#checks.keys()] : [only];
    const lines: string[] = [];
    let healthy = true;
    for (const name of names) {
      const check = this.#checks.get(name);
      if (!check) return undefined;
      const reason = check();
      if (reason !== undefined) healthy = false;
      lines.push(reason === undefined ? `[+]${name} ok` : `[-]${name} failed: ${reason}`);
    }
    return { healthy, report: lines.join('\n') };
  }
}

/** A check that keeps passing once it has passed. */
export function latched(check: HealthCheck): HealthCheck {
  let wasWell = false;
  return () => {
    const reason = wasWell ? undefined : check();
    wasWell = reason === undefined;
    return reason;
  };
}

/**
 * Notices that work which should go on for ever has stopped going on. The work calls `beat`; the check fails when it
 * has not for `limitMs`.
 *
 * A process that was stopped and resumed, or a machine that slept, has not beaten either, and restarting it would not
 * help. Therefore the time is counted in the watchdog's own ticks of the event loop: while the whole process stands
 * still, so does the count.
 */
export class Watchdog {
  static readonly TICK_MS = 1000;
  #ticksSinceBeat = 0;
  readonly #limitMs: number;

  constructor(options: { clock: Clock; limitMs: number; signal: AbortSignal }) {
    this.#limitMs = options.limitMs;
    this.#tick(options.clock, options.signal);
  }

  beat(): void {
    this.#ticksSinceBeat = 0;
  }

  readonly check: HealthCheck = () => {
    const silentMs = this.#ticksSinceBeat * Watchdog.TICK_MS;
    return silentMs > this.#limitMs ? `no progress for ${Math.round(silentMs / 1000)} s` : undefined;
  };

  #tick(clock: Clock, signal: AbortSignal): void {
    if (signal.aborted) return;
    clock.after(Watchdog.TICK_MS, () => {
      this.#ticksSinceBeat += 1;
      this.#tick(clock, signal);
    });
  }
}
