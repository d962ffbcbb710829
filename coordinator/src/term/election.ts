import type { WriteFence } from '../kube/client.ts';

export type LeaseTiming = {
  /** How long a standby waits for a sign of life before it takes the Lease over. */
  leaseDurationMs: number;
  /** A leader that could not renew for so long stops leading, well before another replica may take over. */
  renewDeadlineMs: number;
  /** From one renewal, or one try, to the next. */
  retryPeriodMs: number;
};

export const LEASE_TIMING: LeaseTiming = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 };

export type ElectionCallbacks = {
  /** `term` only grows, also from one leader to the next. */
  onStartedLeading: (term: number) => void;
  onStoppedLeading: () => void;
  /** The Lease has an older version than was seen before. */
  onHistoryWentBack?: () => void;
  /** Another replica leads, or the same at another address; both `undefined` once a leader has left in order. */
  onLeaderChanged: (
    url: string | undefined,
    identity: string | undefined,
    schedulerUrl?: string,
    consoleUrl?: string,
  ) => void;
};

/** Decides which replica may write. */
export interface Election extends WriteFence {
  /** Takes part until the signal aborts, then resolves. Losing does not end it. Never throws. */
  run(): Promise<void>;
  /** Milliseconds since the Lease was last seen to change: a leader that is alive renews it every few seconds. */
  silentMs(): number;
  /** The same as `remainingMs() > 0`. */
  isLeading(): boolean;
  /**
   * Stops leading, waits until `afterSettled` (the writes under way) settles, and frees the Lease, so that a standby can
   * take over at once. If it takes too long, the Lease is left to run out. Ends the part in the election. Never throws.
   */
  release(afterSettled: Promise<unknown>): Promise<void>;
}

/** Creates the election for `--leader-elect=false`: a single replica that always leads. */
export function createSoleLeader(options: {
  identity: string;
  leaderUrl: string;
  signal: AbortSignal;
  callbacks: ElectionCallbacks;
}): Election {
  const { identity, leaderUrl, signal, callbacks } = options;
  let leading = false;
  function stop(): void {
    if (!leading) return;
    leading = false;
    callbacks.onStoppedLeading();
  }
  return {
    async run() {
      if (signal.aborted) return;
      leading = true;
      callbacks.onLeaderChanged(leaderUrl, identity);
      callbacks.onStartedLeading(1);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      stop();
    },
    silentMs: () => 0,
    isLeading: () => leading && !signal.aborted,
    remainingMs: () => (leading && !signal.aborted ? LEASE_TIMING.renewDeadlineMs : 0),
    async release(afterSettled) {
      stop();
      await Promise.allSettled([afterSettled]);
    },
  };
}

/** Tells the replicas apart; new at every start, so that a restarted process does not take itself for its predecessor. */
export function candidateIdentity(hostOrPodName: string, uuid: string): string {
  return `${hostOrPodName}_${uuid}`;
}

/** The pod or the host of a candidate. */
export function nameOfCandidate(identity: string): string {
  return identity.replace(/_[^_]*$/, '');
}
