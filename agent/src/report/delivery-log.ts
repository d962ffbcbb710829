import { CodedError, describeError, hasCode } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';

/**
 * Says once what is wrong, and once that it is over. While an outage lasts, the same cause comes back with every
 * attempt, and with two coordinators two causes come back in turns; therefore the last one of each is remembered, and
 * the last one of what has nothing to do with a coordinator.
 */
export class DeliveryLog {
  readonly #logger: Logger;
  readonly #causes = new Map<string, string>();
  #acceptedBefore = false;
  #error: string | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  accepted(coordinator: string): void {
    if (!this.#acceptedBefore) this.#logger.info({ coordinator }, 'Delivered the first report');
    else if (this.#causes.size > 0) this.#logger.info({ coordinator }, 'Delivered reports again');
    this.#acceptedBefore = true;
    this.#causes.clear();
  }

  /** An error that no part of this program foresaw. */
  unexpected(err: unknown, message: string): void {
    const error = `${message}: ${describeError(err)}`;
    if (this.#error === error) return;
    this.#error = error;
    this.#logger.error({ err }, message);
  }

  failed(err: unknown): void {
    const about = String(err instanceof CodedError ? err.fields['coordinator'] : undefined);
    const cause = describeError(err);
    if (this.#causes.get(about) === cause) return;
    this.#causes.set(about, cause);
    const refused = hasCode(err, 'COORDINATOR_REFUSED');
    this.#logger.warn({ err }, refused ? 'Had a report refused' : 'Could not deliver a report');
  }
}
