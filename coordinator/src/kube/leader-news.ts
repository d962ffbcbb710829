import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@rollcall/common/logging.ts';
import type { ElectionCallbacks } from './election.ts';
import type { KubeMetrics } from './kube-metrics.ts';
import { isWithoutHolder, type Lease, type Whereabouts, whereabouts } from './lease-record.ts';

export type LeaderNewsOptions = {
  logger: Logger;
  callbacks: Pick<ElectionCallbacks, 'onLeaderChanged'>;
  metrics: Pick<KubeMetrics, 'leaderChanged'> | undefined;
};

const NOWHERE: Whereabouts = { url: undefined, schedulerUrl: undefined, consoleUrl: undefined };

/** Reports the leader and its addresses whenever a record of the Lease changes them. */
export class LeaderNews {
  readonly #options: LeaderNewsOptions;
  #identity: string | undefined;
  #where: Whereabouts = NOWHERE;

  constructor(options: LeaderNewsOptions) {
    this.#options = options;
  }

  take(lease: Lease): void {
    const { logger, callbacks, metrics } = this.#options;
    // Most likely the leader is still there and is about to write its name again.
    if (isWithoutHolder(lease)) return;
    const identity = lease.spec?.holderIdentity || undefined;
    const where = identity === undefined ? NOWHERE : whereabouts(lease);
    if (this.#identity === identity && isDeepStrictEqual(this.#where, where)) return;
    if (identity !== undefined && this.#identity !== identity) metrics?.leaderChanged();
    this.#identity = identity;
    this.#where = where;
    logger.info({ leader: identity, url: where.url }, 'Saw a change of the leader');
    try {
      callbacks.onLeaderChanged(where.url, identity, where.schedulerUrl, where.consoleUrl);
    } catch (err) {
      logger.error({ err }, 'Failed to act on a change of the leader');
    }
  }
}
