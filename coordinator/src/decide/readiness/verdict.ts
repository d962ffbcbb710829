import type { Moment } from '@rollcall/common/clock.ts';
import type { Cause } from '../../model/inventory/cause.ts';
import { answer } from '../../model/inventory/predicate-result.ts';
import { formatSelector } from '../../model/label-selector.ts';
import {
  formatPredicate,
  type InventoryCheck,
  type PodsCheck,
  type ProbeCheck,
  podsChecksFor,
  podsChecksOf,
  type Service,
  type ServiceCheck,
  type SingleCheck,
} from '../../model/services.ts';
import { type ObservedPod, podsOfCheck, readyPodIn } from '../../state/observed-pod.ts';
import { canProbe } from '../../state/probe-targets.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import { conditionVerdict } from './condition-verdict.ts';

/** What a check says of a service on a node, with the evidence as a sentence for people. */
export type Verdict = {
  /** `unknown`: no source can tell now, so everything stays as it is. */
  state: 'ready' | 'not-ready' | 'unknown';
  reason: string;
  cause: Cause;
};

/** Whether a service is ready on a node; `checks`: the verdicts that it follows from, in their order, where it does. */
export type ServiceVerdict = Verdict & { checks?: readonly CheckVerdict[] };

type CheckVerdict = Verdict & { name: string };

/**
 * Of several checks that fail, the first of these causes decides: what was seen counts more than what was not heard. A
 * check that fails decides before one that is unknown.
 */
const FAILED_BY: readonly Cause[] = ['evidence', 'agent', 'silence'];

/** An agent that was assigned a check and does not report on it for longer does not support it. */
const TOLD_MS = 30_000;

/**
 * Ready means that every check passes. What the coordinator sees itself, such as pods and CSINodes, counts at once, also
 * while the agent is silent. What only an agent sees, such as devices, counts while an agent is heard.
 */
export function judgeService(service: Service, snapshot: NodeSnapshot, now: Moment): ServiceVerdict {
  const checks = service.checks
    .filter((check) => check.kind !== 'pods' || !check.pods.optional)
    .map((check) => ({ name: check.name, ...judgeCheck(check, { service, snapshot, now }) }));
  return { ...allOf(checks), checks };
}

type Subject = { service: Service; snapshot: NodeSnapshot; now: Moment };

function judgeCheck(check: ServiceCheck, subject: Subject): Verdict {
  if (check.kind === 'anyOf') return anyOf(check.checks.map((each) => judgeSingle(each, subject)));
  return judgeSingle(check, subject);
}

function judgeSingle(check: SingleCheck, { service, snapshot, now }: Subject): Verdict {
  switch (check.kind) {
    case 'pods':
      return podVerdict(check, snapshot);
    case 'probe':
      return agentVerdict(check, { service, snapshot, now });
    case 'csiNode':
      return csiVerdict(check.driver, snapshot);
    case 'condition':
      return conditionVerdict(check, snapshot, now);
    case 'device':
    case 'resource':
    case 'dra':
      return inventoryVerdict(check, snapshot);
  }
}

/** One that fails decides; else one that is unknown. */
function allOf(verdicts: readonly Verdict[]): Verdict {
  const failed = byCause(verdicts, FAILED_BY);
  if (failed) return failed;
  const unknown = verdicts.find(({ state }) => state === 'unknown');
  if (unknown) return withoutName(unknown);
  const cause = verdicts.some((verdict) => verdict.cause === 'agent') ? 'agent' : 'evidence';
  return { state: 'ready', reason: verdicts.map(({ reason }) => reason).join('; '), cause };
}

/**
 * One that passes decides; else one that is unknown. All that fail were needed for a failure, so that the weakest of
 * their causes is its cause: what only silence speaks against was not seen to fail.
 */
function anyOf(verdicts: readonly Verdict[]): Verdict {
  const decides = verdicts.find(({ state }) => state === 'ready') ?? verdicts.find(({ state }) => state === 'unknown');
  if (decides) return decides;
  const cause = byCause(verdicts, FAILED_BY.toReversed())?.cause ?? 'evidence';
  return { state: 'not-ready', reason: verdicts.map(({ reason }) => reason).join(', and '), cause };
}

/** The first that fails by the first of these causes. */
function byCause(verdicts: readonly Verdict[], causes: readonly Cause[]): Verdict | undefined {
  for (const cause of causes) {
    const failed = verdicts.find((verdict) => verdict.state === 'not-ready' && verdict.cause === cause);
    if (failed) return withoutName(failed);
  }
  return undefined;
}

function withoutName({ state, reason, cause }: Verdict): Verdict {
  return { state, reason, cause };
}

/** Evidence that the coordinator sees itself, and evidence from an agent. */
const SEEN = { cause: 'evidence' } as const;
const TOLD = { cause: 'agent' } as const;
const UNKNOWN = { state: 'unknown', cause: 'unknown' } as const;
const SILENT = { state: 'not-ready', cause: 'silence' } as const;

/** Why a failure is not held against a node. */
const EXCUSES = {
  failing: 'it does not count until it is clear whether most nodes have the same fault',
  shared: 'most nodes have the same fault, so it is not held against them (guard: target)',
} as const;

function csiVerdict(driver: string, { csiNode, uid }: NodeSnapshot): Verdict {
  if (csiNode === 'unknown') return { ...UNKNOWN, reason: 'the CSINodes have not been listed yet' };
  if (csiNode === 'none') return { ...SEEN, state: 'not-ready', reason: 'the node has no CSINode' };
  if (csiNode.nodeUid !== uid)
    return { ...SEEN, state: 'not-ready', reason: 'the CSINode belongs to an earlier Node of this name' };
  if (!csiNode.drivers.includes(driver))
    return { ...SEEN, state: 'not-ready', reason: `the CSINode does not list ${driver}` };
  const problem = csiNode.storageProblems.get(driver);
  if (problem !== undefined)
    return { ...SEEN, state: 'not-ready', reason: `the CSINode reports about the storage of ${driver}: ${problem}` };
  return { ...SEEN, state: 'ready', reason: `the CSINode lists ${driver}` };
}

/** The first predicate that is not so decides; else the first that is unknown. */
function inventoryVerdict({ kind, predicates }: InventoryCheck, { freshness, inventory }: NodeSnapshot): Verdict {
  const unheard = kind === 'device' ? unheardVerdict(freshness) : undefined;
  if (unheard) return unheard;
  const answers = predicates.map((predicate) => ({ predicate, ...answer(predicate, inventory) }));
  const source = kind === 'device' ? TOLD : SEEN;
  const failed = answers.find(({ truth }) => truth === 'no');
  if (failed) {
    const reason = `${formatPredicate(failed.predicate)} is required, but ${failed.found}`;
    return { ...source, state: 'not-ready', reason };
  }
  const unknown = answers.find(({ truth }) => truth === 'unknown');
  if (unknown) return { ...UNKNOWN, reason: unknown.found };
  return { ...source, state: 'ready', reason: answers.map(({ found }) => found).join(', and ') };
}

/** Whether a pod of the service on the node is Ready, and not on its way out. */
export function hasReadyPod(service: Service, snapshot: NodeSnapshot): boolean {
  return podsChecksOf(service).some((check) => podVerdict(check, snapshot).state === 'ready');
}

/** One good pod is enough; one that is on its way out beside it does no harm. */
function podVerdict(check: PodsCheck, snapshot: NodeSnapshot): Verdict {
  const { namespace } = check.pods;
  if (!snapshot.podsKnown(namespace)) {
    return { ...UNKNOWN, reason: `the pods in ${namespace} have not been listed yet` };
  }
  const own = podsOfCheck(check, snapshot.pods);
  const good = readyPodIn(own, snapshot);
  if (good) return { ...SEEN, state: 'ready', reason: `pod ${good.namespace}/${good.name} is Ready` };
  const other = own.find(({ terminating }) => !terminating) ?? own[0];
  if (!other) return { ...SEEN, state: 'not-ready', reason: noPod(check.pods) };
  return { ...SEEN, state: 'not-ready', reason: `pod ${other.namespace}/${other.name} ${problemOf(other)}` };
}

/** With what a mistake may be in: the namespace, the selector, the name of the DaemonSet. */
function noPod({ namespace, selector, daemonSet }: PodsCheck['pods']): string {
  const controller = daemonSet === undefined ? '' : ` of the DaemonSet ${daemonSet}`;
  return `no pod${controller} on the node matches ${formatSelector(selector)} in ${namespace}`;
}

function problemOf({ terminating, ready }: ObservedPod): string {
  if (terminating) return 'is terminating';
  return ready ? 'is Ready since before the Node was created' : 'is not Ready';
}

/** What follows for all that only an agent sees, if none is heard. */
function unheardVerdict(freshness: NodeSnapshot['freshness']): Verdict | undefined {
  switch (freshness.state) {
    case 'absent':
      return { ...SILENT, reason: 'no agent is on the node, and none has reported' };
    case 'unheard':
      return { ...UNKNOWN, reason: 'the agent has not reported to this leader yet' };
    case 'silent':
      if (freshness.guard === undefined) return { ...SILENT, reason: 'the agent has been silent for too long' };
      return { ...UNKNOWN, reason: `the agent is silent, and so are most others (guard: ${freshness.guard})` };
    case 'fresh':
    case 'leaving':
      return undefined;
  }
}

function agentVerdict(check: ProbeCheck, { service, snapshot, now }: Subject): Verdict {
  const { id, probe } = check;
  const { freshness, services, heardMs = now.monotonicMs, toldMs, pods, podsKnown } = snapshot;
  const unheard = unheardVerdict(freshness);
  if (unheard) return unheard;
  const report = services.get(id);
  const isKnown = podsChecksFor(service, probe).every((each) => podsKnown(each.pods.namespace));
  const can = report ? 'yes' : canProbe(service, probe, pods);
  if (can !== 'yes') {
    const reason = `no pod of ${service.name} on the node can be probed`;
    // A pod that has no address fails; whether there has to be one, the check of the pods says.
    return can === 'no-address' && isKnown ? { ...SEEN, state: 'not-ready', reason } : { ...UNKNOWN, reason };
  }
  // While the agent is not heard, or leaves, its silence counts as it does for every check.
  if (!report && heardMs - (toldMs.get(id) ?? heardMs) < TOLD_MS) {
    return { ...UNKNOWN, reason: `the agent has not checked ${id} as it is now` };
  }
  if (!report) return { ...SILENT, reason: `the agent does not report on ${id}` };
  if (report.unknown) return { ...UNKNOWN, reason: report.evidence };
  if (report.ready) return { ...TOLD, state: 'ready', reason: report.evidence };
  const fault = snapshot.fault(check, report);
  return fault
    ? { ...UNKNOWN, reason: `${report.evidence}; ${EXCUSES[fault]}` }
    : { ...TOLD, state: 'not-ready', reason: report.evidence };
}

/**
 * `lost`: the agent has just lost a service whose pod is Ready. `unchanged`: it did not see it before either, or does not
 * know. `settled`: the service is ready, or the agent is not the cause why it is not.
 */
export type Sighting = 'lost' | 'unchanged' | 'settled';

/** A sighting of a service on a node, as reported by an agent of this version. */
export type Sighted = { node: string; version: string | undefined; service: string; sighting: Sighting };

/** Doubts what agents say of services. */
export type Observer = {
  /** Records the version of the agent that reports for a node; the empty string for one without a version. */
  sees(node: string, version: string, nowMs: number): void;
  /** Until when a loss of the service on the node is held, if so, by the monotonic clock. Changes nothing. */
  heldUntilMs(sighted: Sighted, nowMs: number): number | undefined;
  record(sighted: Sighted, nowMs: number): void;
};
