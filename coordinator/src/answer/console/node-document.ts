import { identityOf } from '@rollcall/common/accelerators.ts';
import { type ServiceFacts, withCauses } from '@rollcall/common/causes.ts';
import type {
  AcceleratorDocument,
  KeyDocument,
  NodeDocument,
  PendingDocument,
  ReplicaDocument,
  StartingDocument,
} from '@rollcall/common/console.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { plannedChanges } from '../../decide/intent/changes.ts';
import { entryKey, type IntentEntry } from '../../decide/intent/intent.ts';
import { KINDS, valueOn, wantedValue } from '../../decide/intent/kinds/kinds.ts';
import type { ConditionChange, NodePlan } from '../../decide/intent/plan.ts';
import type { EvaluatedNode } from '../../decide/labelers/labeler.ts';
import { publishes, type Service } from '../../model/services.ts';
import { lifecycleOf } from '../../state/observed-conditions.ts';
import { podsOf } from '../../state/observed-pod.ts';
import { isStartAwaited, startedServices, wasReady } from '../../state/started-services.ts';
import type { LeftOutKey } from '../../write/skipped-keys.ts';
import type { NodeFacts } from './node-queries.ts';

/** The page that explains a node. Times are RFC 3339. */
export function nodeDocument(facts: NodeFacts, services: readonly Service[], replica: ReplicaDocument): NodeDocument {
  const { node, evaluated, intent, plan, changes, quietMs } = facts;
  const pending = new Set(plan ? plannedChanges(plan, node, intent).map(entryKey) : []);
  return withCauses({
    replica,
    name: node.name,
    uid: node.uid,
    pool: evaluated.pool,
    agent: {
      ...evaluated.freshness,
      ...(evaluated.agentVersion ? { version: evaluated.agentVersion } : {}),
      ...(quietMs === undefined ? {} : { lastReportSecondsAgo: Math.round(quietMs / 100) / 10 }),
    },
    lifecycle: lifecycleOf(evaluated),
    services: services.map((service) => serviceDocument(service, evaluated)),
    accelerators: acceleratorDocuments(evaluated),
    keys: [...intent].map(([id, entry]) => ({
      ...keyDocument(entry, facts, services),
      ...(pending.has(id) ? { pending: true as const } : {}),
    })),
    workspaces: evaluated.workspaces?.map(({ namespace, name }) => `${namespace}/${name}`),
    pending: plan && planDocument(plan),
    changes: changes.toReversed().map(({ atMs, ...change }) => ({ at: rfc3339(atMs), ...change })),
  });
}

function acceleratorDocuments({ machine, inventory }: EvaluatedNode): AcceleratorDocument[] | undefined {
  const { devices: tally, gone, heldDrivers } = inventory;
  if (!machine || !tally) return undefined;
  const byName = Map.groupBy(machine.devices, (device) => identityOf(device) ?? '');
  return [...new Set([...tally.keys(), ...gone.keys()])].sort().map((name) => ({
    name,
    count: tally.get(name)?.count ?? 0,
    devices: byName.get(name) ?? [],
    gone: gone.get(name),
    driverHeldBack: heldDrivers.has(name) || undefined,
  }));
}

/** `undefined` where the service was ready on the node once, or where nothing depends on it. */
export function startingDocument(service: Service, node: EvaluatedNode): StartingDocument | undefined {
  const { createdAtMs, readiness } = node;
  const { name, startupDeadlineMs } = service;
  const { state = 'ready' } = readiness.get(name) ?? {};
  if (state === 'ready' || !isStartAwaited(service) || wasReady(service, startedServices(node))) return undefined;
  return {
    since: rfc3339(createdAtMs),
    ...(startupDeadlineMs === undefined ? {} : { deadline: rfc3339(createdAtMs + startupDeadlineMs) }),
  };
}

function serviceDocument(service: Service, evaluated: EvaluatedNode): ServiceFacts {
  const { name } = service;
  const { readiness, pods } = evaluated;
  const shown = readiness.get(name);
  return {
    name,
    dryRun: service.dryRun && true,
    state: shown?.state,
    since: shown && rfc3339(shown.sinceMs),
    reason: shown?.reason,
    evidence: shown?.evidence && { state: shown.evidence.state, reason: shown.evidence.reason },
    heldBack: shown?.damping && { until: rfc3339(shown.damping.untilMs), falls: shown.damping.falls },
    starting: startingDocument(service, evaluated),
    checks: (shown?.evidence ?? shown)?.checks ?? [],
    pods: podsOf(service, pods).map(({ namespace, name: pod, ready, terminating }) => ({
      pod: `${namespace}/${pod}`,
      ready,
      terminating,
    })),
  };
}

/** `stance`: want (it is to be there), withhold (it is to be absent), hold (it stays as it is). */
function keyDocument(
  entry: IntentEntry,
  facts: NodeFacts,
  services: readonly Service[],
): Omit<KeyDocument, 'cause' | 'agrees'> {
  const { node, skipped, changes } = facts;
  const { kind, key, stance, ownership, reason, labeler, overruled } = entry;
  const isIt = (other: { kind: string; key: string }) => other.kind === kind && other.key === key;
  const out = skipped.find(isIt);
  const service = services.find((each) => publishes(each, entry))?.name;
  const sinceMs = entry.sinceMs ?? changes.findLast(isIt)?.atMs;
  return {
    kind,
    key,
    service,
    stance,
    value: wantedValue(entry),
    // `null` where it is absent, and left out where it is not watched: taints and conditions are not always watched.
    onNode: KINDS[kind].isShown(node) ? (valueOn(node, entry) ?? null) : undefined,
    reason,
    labeler,
    ownership,
    since: sinceMs === undefined ? undefined : rfc3339(sinceMs),
    overruled: overruled.length > 0 ? overruled : undefined,
    ...(out && whyLeftOut(out)),
  };
}

function whyLeftOut(out: LeftOutKey): Pick<KeyDocument, 'skipped' | 'contested' | 'removalRefused'> {
  const { cause, wanted, message, rival = message, nextTryMs } = out;
  if (cause === 'contested') return { contested: { rival, nextTrySeconds: Math.ceil(nextTryMs / 1000) } };
  return wanted === undefined ? { removalRefused: message } : { skipped: { cause, message } };
}

/** The pending write. */
export function planDocument({ withdrawal, set, taints, conditions }: NodePlan): PendingDocument {
  return {
    withdraw: withdrawal,
    apply: set && { labels: set.labels, annotations: set.annotations, force: set.force },
    taints: taints && { add: taints.add, remove: taints.remove },
    conditions: conditions && pendingConditions(conditions),
  };
}

function pendingConditions(change: ConditionChange): NonNullable<PendingDocument['conditions']> {
  switch (change.write) {
    case 'apply':
      return { apply: [...change.conditions, ...change.waiting] };
    case 'remove':
      return { remove: change.conditions };
    case 'disown':
      return { disown: true };
  }
}
