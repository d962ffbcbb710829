import type { Logger } from '@rollcall/common/logging.ts';
import { LEADER_URL_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { ElectionCallbacks } from './election.ts';
import type { KubeMetrics } from './kube-metrics.ts';
import { isWithoutHolder, type Lease } from './lease-record.ts';

export type LeaderNewsOptions = {
  logger: Logger;
  callbacks: Pick<ElectionCallbacks, 'onLeaderChanged'>;
  metrics: Pick<KubeMetrics, 'leaderChanged'> | undefined;
};

/** Tells who leads, and where, whenever a record of the Lease says something new about it. */
export class LeaderNews {
  readonly #options: LeaderNewsOptions;
  #identity: string | undefined;
  #url: string | undefined;

  constructor(options: LeaderNewsOptions) {
    this.#options = options;
  }

  take(lease: Lease): void {
    const { logger, callbacks, metrics } = this.#options;
    // Most likely the leader is still there and is about to write its name again.
    if (isWithoutHolder(lease)) return;
    const identity = lease.spec?.holderIdentity || undefined;
    const url = identity === undefined ? undefined : lease.metadata.annotations?.[LEADER_URL_ANNOTATION];
    if (this.#identity === identity && this.#url === url) return;
    if (identity !== undefined && this.#identity !== identity) metrics?.leaderChanged();
    this.#identity = identity;
    this.#url = url;
    logger.info({ leader: identity, url }, 'Saw a change of the leader');
    try {
      callbacks.onLeaderChanged(url, identity);
    } catch (err) {
      logger.error({ err }, 'Failed to act on a change of the leader');
    }
  }
}
