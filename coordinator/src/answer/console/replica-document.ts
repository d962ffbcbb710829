import { hostname } from 'node:os';
import type { Clock } from '@rollcall/common/clock.ts';
import type { ReplicaDocument } from '@rollcall/common/console.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { VERSION } from '@rollcall/common/version.ts';
import type { Evaluator } from '../../decide/evaluator.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../../model/config.ts';
import type { Fleet } from '../../state/fleet.ts';
import type { LeadershipState } from '../../term/leadership-state.ts';

export type ReplicaSource = {
  config: Pick<CoordinatorConfig, 'dryRun' | 'readinessGate' | 'staleAfterSeconds'>;
  environment: Pick<CoordinatorEnvironment, 'podName'>;
  leadershipState: Pick<LeadershipState, 'role'>;
  fleet: Pick<Fleet, 'freshness' | 'activeGuards'>;
  evaluator: Pick<Evaluator, 'heldWithdrawals'>;
  clock: Clock;
};

/** Describes the replica that answers, as far as a reader needs it to understand the answer. */
export function replicaDocument({
  config,
  environment,
  leadershipState,
  fleet,
  evaluator,
  clock,
}: ReplicaSource): ReplicaDocument {
  const role = leadershipState.role();
  return {
    name: environment.podName ?? hostname(),
    version: VERSION,
    ...role,
    // Agents report to the leader alone: what a standby knows of services is nothing to go by.
    ...(role.leading ? {} : { note: 'This replica does not lead, and gets no reports: ask the leader' }),
    guards: fleet.activeGuards(),
    heldWithdrawals: evaluator.heldWithdrawals(),
    dryRun: config.dryRun,
    readinessGate: config.readinessGate,
    staleAfterSeconds: config.staleAfterSeconds,
    now: rfc3339(clock.now()),
  };
}
