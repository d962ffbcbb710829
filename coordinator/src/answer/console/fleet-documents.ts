import { hostname } from 'node:os';
import type { SeenKind } from '@rollcall/common/checks/check-kind.ts';
import { SEEN_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import type { Clock } from '@rollcall/common/clock.ts';
import type {
  NodeSummary,
  PlanDocument,
  PlannedNode,
  ReplicaDocument,
  ServiceDocument,
  ServiceState,
} from '@rollcall/common/console.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Decision, Evaluator } from '../../decide/evaluator.ts';
import { plannedChanges } from '../../decide/intent/changes.ts';
import { entryKey } from '../../decide/intent/intent.ts';
import { parseManagedLabels } from '../../decide/labelers/pool-keys.ts';
import type { ServiceTally } from '../../decide/service-tally.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../../model/config.ts';
import { type SeenCheck, type Service, type ServiceCheck, withoutDryRun } from '../../model/services.ts';
import { lifecycleOf } from '../../state/observed-conditions.ts';
import type { ServiceRegistry } from '../../state/services/service-registry.ts';
import type { LeadershipState } from '../../term/leadership-state.ts';
import { planDocument, startingDocument } from './node-document.ts';
import type { NodeQueries } from './node-queries.ts';
import { type Labels, whySelectsNone } from './selects-none.ts';

/** A node in a line. */
export function nodeSummary(nodes: NodeQueries, name: string): NodeSummary | undefined {
  const decision = nodes.decide(name);
  if (!decision) return undefined;
  const { evaluated } = decision;
  const skipped = nodes.skippedOn(name);
  const keysOf = (isContested: boolean) =>
    skipped.flatMap(({ cause, key }) => ((cause === 'contested') === isContested ? key : []));
  const { pool, freshness, agentVersion } = evaluated;
  const dryRuns = new Set(decision.judgements.flatMap(({ service }) => (service.dryRun ? service.name : [])));
  const readiness = [...evaluated.readiness].filter(([service]) => !dryRuns.has(service));
  const dry = [...evaluated.readiness].filter(([service]) => dryRuns.has(service));
  const lifecycle = lifecycleOf(evaluated);
  const starting = decision.judgements.flatMap(({ service, shown }) => {
    const document = service.dryRun ? undefined : startingDocument(service, evaluated);
    const checks = shown.checks?.flatMap((check) => (check.state === 'ready' ? [] : check.name)) ?? [];
    return document ? [{ service: service.name, checks, ...document }] : [];
  });
  return {
    name,
    ...(pool === undefined ? {} : { pool }),
    agent: freshness.state,
    ...(freshness.state === 'silent' && freshness.guard !== undefined ? { guard: freshness.guard } : {}),
    ...(agentVersion ? { agentVersion } : {}),
    services: statesOf(readiness),
    ...(dry.length > 0 ? { dryRun: statesOf(dry) } : {}),
    heldBack: readiness.filter(([, { damping }]) => damping).map(([service]) => service),
    ...(lifecycle.length > 0 ? { lifecycle } : {}),
    ...(starting.length > 0 ? { starting } : {}),
    contested: keysOf(true),
    skipped: keysOf(false),
    ...leftOn(decision),
    pending: nodes.planOf(decision) !== undefined,
  };
}

function statesOf(readiness: readonly [string, { state: ServiceState }][]): Record<string, ServiceState> {
  return Object.fromEntries(readiness.map(([service, { state }]) => [service, state]));
}

function leftOn({ intent }: Partial<Pick<Decision, 'intent'>>): Pick<NodeSummary, 'left'> {
  const left = [...(intent?.values() ?? [])].filter(({ isLeft }) => isLeft).map(({ key }) => key);
  return left.length > 0 ? { left } : {};
}

/** What the plan says besides the pending writes. */
export class PlanNotes {
  readonly #newInPools: string[] = [];
  readonly #left = new Map<string, { key: string; reason: string; nodes: string[] }>();

  document(): Pick<PlanDocument, 'newInPools' | 'left'> {
    return { newInPools: this.#newInPools, left: [...this.#left.values()] };
  }

  noteLeft(node: string, { intent }: Partial<Pick<Decision, 'intent'>>): void {
    for (const { key, reason, isLeft } of intent?.values() ?? []) {
      if (!isLeft) continue;
      const id = `${key} ${reason}`;
      const entry = this.#left.get(id) ?? { key, reason, nodes: [] };
      this.#left.set(id, entry);
      entry.nodes.push(node);
    }
  }

  noteChanges({ node, intent }: Decision, changes: PlannedNode['changes']): void {
    const list = node.annotations[MANAGED_LABELS_ANNOTATION];
    if (list === undefined || parseManagedLabels(list)?.size !== 0) return;
    const isOfPool = (key: string) => intent.get(entryKey({ kind: 'label', key }))?.origin === 'pool';
    if (changes.some(({ kind, key, from }) => kind === 'label' && from === undefined && isOfPool(key)))
      this.#newInPools.push(node.name);
  }
}

/** The pending writes, node by node; `undefined` for a node without any. */
export function* plannedNodes(nodes: NodeQueries, notes = new PlanNotes()): Iterable<PlannedNode | undefined> {
  for (const name of nodes.names()) {
    const decision = nodes.decide(name);
    if (decision) notes.noteLeft(name, decision);
    const plan = decision && nodes.planOf(decision);
    if (!plan) {
      yield undefined;
      continue;
    }
    const { node, intent } = decision;
    const changes = plannedChanges(plan, node, intent);
    notes.noteChanges(decision, changes);
    const reasons = Object.fromEntries([...intent].map(([key, { reason }]) => [key, reason]));
    yield { name, changes, ...planDocument(plan), reasons };
  }
}

/** Services that select no node, with the reason: each takes a look at all nodes. */
const EXPLAINED_MAX = 8;

/** The services that are in force, and the NodeServices that are not. `labels`: of all nodes. */
export function serviceDocuments(
  serviceRegistry: ServiceRegistry,
  tally: ServiceTally,
  labels: () => readonly Labels[],
): ServiceDocument[] {
  let explained = 0;
  const inForce = serviceRegistry.services().map((service): ServiceDocument => {
    const problem = service.origin.kind === 'built-in' ? serviceRegistry.refusalOfBuiltIn(service.name) : undefined;
    const document = serviceDocument(service, tally);
    const { ready, notReady, unknown } = document.nodes;
    const isNowhere = ready + notReady + unknown === 0 && ++explained <= EXPLAINED_MAX;
    const noNode = isNowhere ? whySelectsNone(service.nodeSelector, labels()) : undefined;
    return { ...document, ...(noNode === undefined ? {} : { noNode }), ...(problem && { problem }) };
  });
  const refused = serviceRegistry.objects().flatMap((object) => {
    const problem = serviceRegistry.refusalOf(object);
    return problem ? [{ ...serviceDocument(object.service, tally), accepted: false, problem }] : [];
  });
  return [...inForce, ...refused];
}

function serviceDocument(service: Service, tally: ServiceTally): ServiceDocument {
  const { name, mode, origin, dryRun } = service;
  const { label, taint, condition } = withoutDryRun(service).publish;
  const { ready, 'not-ready': notReady, unknown } = tally.count(name);
  const commonest = tally.commonest(name);
  return {
    name,
    origin: origin.kind === 'built-in' ? 'built-in' : 'NodeService',
    accepted: true,
    mode,
    ...(dryRun ? { dryRun: true as const } : {}),
    publish: {
      ...(label === undefined ? {} : { label }),
      ...(taint ? { taint: taint.key } : {}),
      ...(condition === undefined ? {} : { condition }),
    },
    checks: service.checks.map((check) => ({ name: check.name, what: whatOf(check) })),
    nodes: { ready, notReady, unknown },
    ...(commonest ? { commonest } : {}),
  };
}

/** What a check asks for, as a clause for people. */
function whatOf(check: ServiceCheck): string {
  switch (check.kind) {
    case 'anyOf':
      return check.checks.map(whatOf).join(', or ');
    case 'pods':
      return check.settings.optional
        ? `a pod in ${check.settings.namespace} on the node shows where the service is`
        : SEEN_KINDS.pods.says(check.settings);
    case 'probe': {
      const { spec, port } = check.settings;
      return `the agent's probe succeeds: ${spec.kind}${port === undefined ? '' : `, port ${port}`}`;
    }
    default: {
      const { says } = SEEN_KINDS[check.kind] as SeenKind<SeenCheck['settings']>;
      return says(check.settings);
    }
  }
}

export type ReplicaSource = {
  config: Pick<CoordinatorConfig, 'dryRun' | 'readinessGate' | 'staleAfterSeconds'>;
  environment: Pick<CoordinatorEnvironment, 'podName'>;
  leadershipState: Pick<LeadershipState, 'role'>;
  evaluator: Pick<Evaluator, 'guards'>;
  clock: Clock;
};

/** Describes the replica that answers, as far as a reader needs it to understand the answer. */
export function replicaDocument({
  config,
  environment,
  leadershipState,
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
    guards: evaluator.guards(),
    dryRun: config.dryRun,
    readinessGate: config.readinessGate,
    staleAfterSeconds: config.staleAfterSeconds,
    now: rfc3339(clock.now()),
  };
}
