import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';

/** Ends a request when its time is up, or when the caller no longer wants it. */
export class Limit {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort(this.#outer?.reason);
  #cancelTimer = () => {};

  constructor(clock: Clock, outer: AbortSignal | undefined) {
    this.#clock = clock;
    this.#outer = outer;
    if (outer?.aborted) this.#abort();
    outer?.addEventListener('abort', this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time anew. When it is up, the signal aborts with KUBE_UNREACHABLE. */
  within(delayMs: number, message: string, fields: Record<string, unknown> = {}): void {
    this.#cancelTimer();
    const abort = () => this.#controller.abort(new CodedError('KUBE_UNREACHABLE', message, { fields }));
    this.#cancelTimer = this.#clock.after(delayMs, abort);
  }

  /** The fields are what `isSilence` knows it by. */
  withinSilence(idleTimeoutMs: number): void {
    this.within(idleTimeoutMs, 'The watch was silent for too long', { idleTimeoutMs });
  }

  end(): void {
    this.#cancelTimer();
    this.#outer?.removeEventListener('abort', this.#abort);
  }
}
