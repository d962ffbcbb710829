import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { VERSION } from '@rollcall/common/version.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from './config.ts';
import { candidateIdentity, createSoleLeader, type Election, type ElectionCallbacks } from './kube/election.ts';
import { createKubeClient } from './kube/https-client.ts';
import type { KubeMetrics } from './kube/kube-metrics.ts';
import { createLeaseElection } from './kube/lease.ts';

export type JoinOptions = {
  config: CoordinatorConfig;
  environment: CoordinatorEnvironment;
  kubeConfig: KubeConfig;
  /** Where this replica takes reports when it leads. */
  leaderUrl: string;
  /** Where it then answers kube-scheduler; empty where it does not. */
  schedulerUrl: string;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: KubeMetrics;
  onStartedLeading: () => void;
  /** This replica does not lead; the argument is where the leader takes reports, when one is known. */
  onStandby: (leaderUrl: string | undefined, schedulerUrl?: string) => void;
};

/** Prepares the part of this replica in the election; it begins with `run`. */
export function joinElection(options: JoinOptions): Election {
  const { config, environment, kubeConfig, leaderUrl, schedulerUrl, clock, random, logger, metrics } = options;
  const identity = candidateIdentity(environment.podName ?? hostname(), randomUUID());
  // Not the signal of the program: the Lease is released when it stops, after the last write.
  const { signal } = new AbortController();
  let leading = false;
  const callbacks: ElectionCallbacks = {
    onStartedLeading: () => {
      leading = true;
      options.onStartedLeading();
    },
    onStoppedLeading: () => {
      leading = false;
      options.onStandby(undefined);
    },
    onLeaderChanged: (url, _identity, leaderSchedulerUrl) => {
      // A predecessor at this very address, or one that takes no reports, is nobody to send agents to.
      if (!leading) options.onStandby(url && url !== leaderUrl ? url : undefined, leaderSchedulerUrl);
    },
  };
  if (!config.leaderElect) {
    const onStartedLeading = (term: number) => {
      metrics.leading(true);
      logger.info({ term, identity }, 'Started leading');
      callbacks.onStartedLeading(term);
    };
    return createSoleLeader({ identity, leaderUrl, signal, callbacks: { ...callbacks, onStartedLeading } });
  }
  const client = createKubeClient(kubeConfig, {
    userAgent: `rollcall-coordinator/${VERSION} (leader election)`,
    maxSockets: 4,
    clock,
    onAnswer: metrics.answered,
  });
  const { leaseNamespace: namespace, leaseName: name } = config;
  return createLeaseElection({
    client,
    namespace,
    name,
    identity,
    leaderUrl,
    schedulerUrl,
    clock,
    random,
    signal,
    logger,
    callbacks,
    metrics,
  });
}
