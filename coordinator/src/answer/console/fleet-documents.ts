import { hostname } from 'node:os';
import type { Clock } from '@rollcall/common/clock.ts';
import type { NodeSummary, PlannedNode, ReplicaDocument, ServiceDocument } from '@rollcall/common/console.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { VERSION } from '@rollcall/common/version.ts';
import type { Evaluator } from '../../decide/evaluator.ts';
import { plannedChanges } from '../../decide/intent/changes.ts';
import type { ServiceTally } from '../../decide/service-tally.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../../model/config.ts';
import type { Service } from '../../model/services.ts';
import type { Fleet } from '../../state/fleet.ts';
import type { ServiceRegistry } from '../../state/services/service-registry.ts';
import type { LeadershipState } from '../../term/leadership-state.ts';
import { planDocument } from './node-document.ts';
import type { NodeQueries } from './node-queries.ts';

/** A node in a line. */
export function nodeSummary(nodes: NodeQueries, name: string): NodeSummary | undefined {
  const evaluation = nodes.evaluate(name);
  if (!evaluation) return undefined;
  const { evaluated } = evaluation;
  const { unwritable, contested } = nodes.skippedOn(name);
  const { pool, freshness, agentVersion } = evaluated;
  const readiness = [...evaluated.readiness];
  return {
    name,
    ...(pool === undefined ? {} : { pool }),
    agent: freshness.state,
    ...(freshness.state === 'silent' && freshness.guard !== undefined ? { guard: freshness.guard } : {}),
    ...(agentVersion ? { agentVersion } : {}),
    services: Object.fromEntries(readiness.map(([service, { state }]) => [service, state])),
    heldBack: readiness.filter(([, { damping }]) => damping).map(([service]) => service),
    contested: contested.map(({ key }) => key),
    skipped: unwritable.map(({ key }) => key),
    pending: nodes.planOf(evaluation) !== undefined,
  };
}

/** The pending writes, node by node; `undefined` for a node without any. */
export function* plannedNodes(nodes: NodeQueries): Iterable<PlannedNode | undefined> {
  for (const name of nodes.names()) {
    const evaluation = nodes.evaluate(name);
    const plan = evaluation && nodes.planOf(evaluation);
    if (!plan) {
      yield undefined;
      continue;
    }
    const { node, intent } = evaluation;
    const reasons = Object.fromEntries([...intent].map(([key, { reason }]) => [key, reason]));
    yield { name, changes: plannedChanges(plan, node, intent), ...planDocument(plan), reasons };
  }
}

/** The services that are in force, and the NodeServices that are not. */
export function serviceDocuments(serviceRegistry: ServiceRegistry, tally: ServiceTally): ServiceDocument[] {
  const inForce = serviceRegistry.services().map((service) => serviceDocument(service, tally));
  const refused = serviceRegistry.objects().flatMap((object) => {
    const problem = serviceRegistry.refusalOf(object);
    return problem ? [{ ...serviceDocument(object.service, tally), accepted: false, problem }] : [];
  });
  return [...inForce, ...refused];
}

function serviceDocument(service: Service, tally: ServiceTally): ServiceDocument {
  const { name, mode, publish, origin } = service;
  const { label, taint, condition } = publish;
  const { ready, 'not-ready': notReady, unknown } = tally.count(name);
  return {
    name,
    origin: origin.kind === 'built-in' ? 'built-in' : 'NodeService',
    accepted: true,
    mode,
    publish: {
      ...(label === undefined ? {} : { label }),
      ...(taint ? { taint: taint.key } : {}),
      ...(condition === undefined ? {} : { condition }),
    },
    evidence: evidenceOf(service),
    nodes: { ready, notReady, unknown },
  };
}

function evidenceOf({ pods, probe, csiDriver }: Service): string[] {
  const evidence: string[] = [];
  if (pods) {
    const controller = pods.daemonSet === undefined ? '' : ` of the DaemonSet ${pods.daemonSet}`;
    const says = pods.optional ? 'shows where the service is' : 'is Ready and not terminating';
    evidence.push(`a pod${controller} in ${pods.namespace} on the node ${says}`);
  }
  if (probe) {
    evidence.push(
      `the agent's probe succeeds: ${probe.spec.kind}${probe.port === undefined ? '' : `, port ${probe.port}`}`,
    );
  }
  if (csiDriver !== undefined) evidence.push(`the CSINode lists ${csiDriver}`);
  return evidence;
}

export type ReplicaSource = {
  config: Pick<CoordinatorConfig, 'dryRun' | 'readinessGate' | 'staleAfterSeconds'>;
  environment: Pick<CoordinatorEnvironment, 'podName'>;
  leadershipState: Pick<LeadershipState, 'role'>;
  fleet: Pick<Fleet, 'freshness'>;
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
    guards: fleet.freshness.activeGuards(),
    heldWithdrawals: evaluator.heldWithdrawals(),
    dryRun: config.dryRun,
    readinessGate: config.readinessGate,
    staleAfterSeconds: config.staleAfterSeconds,
    now: rfc3339(clock.now()),
  };
}
