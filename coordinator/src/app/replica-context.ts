import { type Clock, sleep } from '@rollcall/common/clock.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { VERSION } from '@rollcall/common/version.ts';
import type { ApiAccess } from '../kube/api-access.ts';
import type { KubeClient } from '../kube/client.ts';
import { ApiContact, createKubeMetrics, type KubeMetrics } from '../kube/kube-metrics.ts';
import { LeaderRequests } from '../kube/leader-requests.ts';
import type { RuntimeDependencies } from '../kube/runtime-dependencies.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../model/config.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import { LeadershipState } from '../term/leadership-state.ts';

export type Setup = { config: CoordinatorConfig; environment: CoordinatorEnvironment; access: ApiAccess };

/** Dependencies of nearly every part of a replica. */
export type ReplicaContext = ReturnType<typeof createReplicaContext>;

const POLL_MS = 20;

export function createReplicaContext(
  setup: Setup,
  logger: Logger,
  { signal }: Lifecycle,
  dependencies: RuntimeDependencies,
) {
  const { clock } = dependencies;
  const registry = createRegistry('rollcall_coordinator');
  const contact = new ApiContact(clock);
  const metrics = createKubeMetrics(registry);
  const answered: KubeMetrics['answered'] = (verb, code) => {
    metrics.answered(verb, code);
    contact.answered(code);
  };
  const kubeMetrics = { ...metrics, answered };
  const client = kubeClient(dependencies, kubeMetrics, logger);
  const leadershipState = new LeadershipState(signal);
  const { fence } = leadershipState;
  const requests = new LeaderRequests({ client, fence, signal });
  const keys = new KeyRegistry(setup.config);
  return {
    ...setup,
    ...dependencies,
    keys,
    client,
    contact,
    leadershipState,
    requests,
    signal,
    logger,
    registry,
    kubeMetrics,
  };
}

/** A client with connections of its own. */
export function kubeClient({ connect, clock }: RuntimeDependencies, metrics: KubeMetrics, logger: Logger): KubeClient {
  return connect({
    userAgent: `rollcall-coordinator/${VERSION}`,
    // The writer has at most 64 + 64 requests under way, and TokenReviews 32.
    maxSockets: 192,
    clock,
    onAnswer: metrics.answered,
    onWarning: (warning, path) => logger.warn({ warning, path }, 'The API server warned'),
  });
}

/** Waits until something is so, or the signal aborts. */
export async function until(isSo: () => boolean, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !isSo()) await sleep(clock, POLL_MS, signal);
}
