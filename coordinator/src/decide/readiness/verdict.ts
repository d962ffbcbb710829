import type { Cause } from '../../model/inventory/cause.ts';
import { answer } from '../../model/inventory/predicate-result.ts';
import type { DeviceRequirement, Service } from '../../model/services.ts';
import { type ObservedPod, podsOf, readyPodOf } from '../../state/observed-pod.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';

/** Whether a service is ready on a node, with the evidence as a sentence for people. */
export type ServiceVerdict = {
  /** `unknown`: no source can tell now, so everything stays as it is. */
  state: 'ready' | 'not-ready' | 'unknown';
  reason: string;
  cause: Cause;
};

/**
 * Of several checks that fail, the first of these causes decides: what was seen counts more than what was not heard. A
 * check that fails decides before one that is unknown.
 */
const FAILED_BY: readonly Cause[] = ['evidence', 'agent', 'silence'];

/** An agent that was assigned a check and does not report on it for longer does not support it. */
const TOLD_MS = 30_000;

/**
 * Ready means that all evidence that the service requires agrees: a pod of it on the node is Ready and not terminating,
 * the agent reported lately that its probe succeeds, the CSINode lists its driver, the agent saw the devices. Pods and
 * CSINodes count at once, also while the agent is silent; its silence does not affect devices. `nowMs` is monotonic.
 */
export function judgeService(service: Service, snapshot: NodeSnapshot, nowMs: number): ServiceVerdict {
  const { pods, csiDriver, probe, devices = [] } = service;
  const verdicts: ServiceVerdict[] = [];
  if (pods && !pods.optional) verdicts.push(podVerdict(service, snapshot));
  if (csiDriver !== undefined) verdicts.push(csiVerdict(csiDriver, snapshot));
  for (const device of devices) verdicts.push(deviceVerdict(device, snapshot));
  if (probe) verdicts.push(agentVerdict(service, snapshot, nowMs));
  return composed(verdicts);
}

/** The verdict on a service by those on its checks, all of which have to pass. */
function composed(verdicts: readonly ServiceVerdict[]): ServiceVerdict {
  for (const cause of FAILED_BY) {
    const failed = verdicts.find((verdict) => verdict.state === 'not-ready' && verdict.cause === cause);
    if (failed) return failed;
  }
  const unknown = verdicts.find(({ state }) => state === 'unknown');
  if (unknown) return unknown;
  const cause = verdicts.some((verdict) => verdict.cause === 'agent') ? 'agent' : 'evidence';
  return { state: 'ready', reason: verdicts.map(({ reason }) => reason).join('; '), cause };
}

/** Evidence that the coordinator sees itself, and evidence from an agent. */
const SEEN = { cause: 'evidence' } as const;
const TOLD = { cause: 'agent' } as const;
const UNKNOWN = { state: 'unknown', cause: 'unknown' } as const;
const SILENT = { state: 'not-ready', cause: 'silence' } as const;

function csiVerdict(driver: string, { csiNode, uid }: NodeSnapshot): ServiceVerdict {
  if (csiNode === 'unknown') return { ...UNKNOWN, reason: 'the CSINodes have not been listed yet' };
  if (csiNode === 'none') return { ...SEEN, state: 'not-ready', reason: 'the node has no CSINode' };
  if (csiNode.nodeUid !== uid)
    return { ...SEEN, state: 'not-ready', reason: 'the CSINode belongs to an earlier Node of this name' };
  if (!csiNode.drivers.includes(driver))
    return { ...SEEN, state: 'not-ready', reason: `the CSINode does not list ${driver}` };
  return { ...SEEN, state: 'ready', reason: `the CSINode lists ${driver}` };
}

const STATE = { yes: 'ready', no: 'not-ready' } as const;

function deviceVerdict({ text, term }: DeviceRequirement, { freshness, inventory }: NodeSnapshot): ServiceVerdict {
  if (freshness.state === 'absent' && !inventory.devices) {
    return { ...SILENT, reason: `${text} is required, but no agent is on the node, and none has reported` };
  }
  const { truth, found } = answer(term, inventory);
  if (truth === 'unknown') return { ...UNKNOWN, reason: found };
  return { ...TOLD, state: STATE[truth], reason: truth === 'no' ? `${text} is required, but ${found}` : found };
}

/** Whether a pod of the service on the node is Ready, and not on its way out. */
export function hasReadyPod(service: Service, snapshot: NodeSnapshot): boolean {
  return podVerdict(service, snapshot).state === 'ready';
}

/** One good pod is enough; one that is on its way out beside it does no harm. */
function podVerdict(service: Service, snapshot: NodeSnapshot): ServiceVerdict {
  const { namespace = '' } = service.pods ?? {};
  if (!snapshot.podsKnown(namespace)) {
    return { ...UNKNOWN, reason: `the pods in ${namespace} have not been listed yet` };
  }
  const good = readyPodOf(service, snapshot);
  if (good) return { ...SEEN, state: 'ready', reason: `pod ${good.namespace}/${good.name} is Ready` };
  const own = podsOf(service, snapshot.pods);
  const other = own.find(({ terminating }) => !terminating) ?? own[0];
  if (!other) return { ...SEEN, state: 'not-ready', reason: `no pod of ${service.name} is on the node` };
  return { ...SEEN, state: 'not-ready', reason: `pod ${other.namespace}/${other.name} ${problemOf(other)}` };
}

function problemOf({ terminating, ready }: ObservedPod): string {
  if (terminating) return 'is terminating';
  return ready ? 'is Ready since before the Node was created' : 'is not Ready';
}

function agentVerdict(service: Service, { freshness, services, toldMs }: NodeSnapshot, nowMs: number): ServiceVerdict {
  const { name } = service;
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
      break;
  }
  const report = services.get(name);
  if (!report && nowMs - (toldMs.get(name) ?? nowMs) < TOLD_MS) {
    return { ...UNKNOWN, reason: `the agent has not checked ${name} as it is now` };
  }
  if (!report) return { ...SILENT, reason: `the agent does not report on ${name}` };
  if (report.unknown) return { ...UNKNOWN, reason: report.evidence };
  return { ...TOLD, state: report.ready ? 'ready' : 'not-ready', reason: report.evidence };
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
