import { hostname } from 'node:os';
import type { Logger } from '@rollcall/common/logging.ts';
import { isClearText } from '@rollcall/common/loopback.ts';
import { VERSION } from '@rollcall/common/version.ts';
import type { KubeMetrics } from '../kube/kube-metrics.ts';
import type { RuntimeDependencies } from '../kube/runtime-dependencies.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../model/config.ts';
import {
  candidateIdentity,
  createSoleLeader,
  type Election,
  type ElectionCallbacks,
  nameOfCandidate,
} from './election.ts';
import type { Leader } from './leadership-state.ts';
import { createLeaseElection } from './lease.ts';

export type JoinOptions = RuntimeDependencies & {
  config: CoordinatorConfig;
  environment: CoordinatorEnvironment;
  /** The URL at which this replica takes reports when it leads. */
  leaderUrl: string;
  /** The URL at which it then answers kube-scheduler; empty if it does not. */
  schedulerUrl: string;
  /** The URL of its console; empty if other replicas cannot reach it. */
  consoleUrl: string;
  logger: Logger;
  metrics: KubeMetrics;
  onStartedLeading: () => void;
  /** The cluster has an older history than was seen: it was restored from a backup. */
  onHistoryWentBack: () => void;
  /** This replica does not lead. The argument is the leader, as far as it is known. */
  onStandby: (leader: Leader) => void;
};

/** Prepares the part of this replica in the election; it begins with `run`. */
export function joinElection(options: JoinOptions): Election {
  const { config, environment, connect, leaderUrl, schedulerUrl, consoleUrl, clock, random, logger, metrics } = options;
  const identity = candidateIdentity(environment.podName ?? hostname(), options.uniqueName());
  // Not the signal of the program: the Lease is released when it stops, after the last write.
  const { signal } = new AbortController();
  let leading = false;
  const isUsable = (address: string, isTls: boolean) => {
    const problem = problemOfAddress(address, isTls);
    if (problem !== undefined) logger.error({ address, problem }, 'Refused an address of the leader');
    return problem === undefined;
  };
  const callbacks: ElectionCallbacks = {
    onStartedLeading: () => {
      leading = true;
      options.onStartedLeading();
    },
    onStoppedLeading: () => {
      leading = false;
      options.onStandby({});
    },
    onHistoryWentBack: () => {
      logger.warn('The history of the cluster went back, as after a restore from a backup; listing everything anew');
      options.onHistoryWentBack();
    },
    onLeaderChanged: (url, name, itsSchedulerUrl, itsConsoleUrl) => {
      if (leading) return;
      // Agents are not sent to a predecessor at this same address, or to one that takes no reports.
      const isPlace = url !== undefined && url !== '' && url !== leaderUrl && isUsable(url, config.tls === 'on');
      const answersScheduler = itsSchedulerUrl !== undefined && isUsable(itsSchedulerUrl, config.schedulerTls === 'on');
      options.onStandby({
        ...(isPlace ? { leaderUrl: url } : {}),
        ...(name === undefined ? {} : { leader: nameOfCandidate(name) }),
        ...(answersScheduler ? { schedulerUrl: itsSchedulerUrl } : {}),
        ...(itsConsoleUrl === undefined || itsConsoleUrl === consoleUrl ? {} : { consoleUrl: itsConsoleUrl }),
      });
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
  const client = connect({
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
    consoleUrl,
    clock,
    random,
    signal,
    logger,
    callbacks,
    metrics,
  });
}

/**
 * Checks an address from the Lease, to which requests of others are sent. Returns what is wrong with it, or `undefined`.
 * `isTls`: replicas use TLS there, so that clear text reaches this machine only.
 */
function problemOfAddress(address: string, isTls: boolean): string | undefined {
  const url = URL.parse(address);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return 'is not an https:// or http:// address';
  if (isTls && isClearText(url)) return 'would get requests in clear text; http:// is for loopback addresses only';
  return undefined;
}
