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
 * help. Therefore one question counts for at most `limitMs`, however long ago the one before was: the check fails only
 * if the work has not beaten between two of them. No timer is needed, which would wake an idle process.
 */
export class Watchdog {
  readonly #clock: Clock;
  readonly #limitMs: number;
  #silentMs = 0;
  #askedMs: number;

  constructor(options: { clock: Clock; limitMs: number }) {
    this.#clock = options.clock;
    this.#limitMs = options.limitMs;
    this.#askedMs = options.clock.monotonic();
  }

  beat(): void {
    this.#silentMs = 0;
    this.#askedMs = this.#clock.monotonic();
  }

  readonly check: HealthCheck = () => {
    const nowMs = this.#clock.monotonic();
    const sinceMs = nowMs - this.#askedMs;
    // For so long the process may have stood still, which alone is not above the limit.
    const mayHaveStood = sinceMs > this.#limitMs && this.#silentMs < this.#limitMs;
    this.#silentMs = mayHaveStood ? this.#limitMs : this.#silentMs + Math.min(sinceMs, this.#limitMs);
    this.#askedMs = nowMs;
    return this.#silentMs > this.#limitMs ? `no progress for ${Math.round(this.#silentMs / 1000)} s` : undefined;
  };
}
