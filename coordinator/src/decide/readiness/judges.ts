import type { Moment } from '@rollcall/common/clock.ts';
import type { Cause } from '../../model/inventory/cause.ts';
import { type Among, isOrder, type Order } from '../../model/inventory/predicate.ts';
import { answer } from '../../model/inventory/predicate-result.ts';
import { formatSelector } from '../../model/label-selector.ts';
import {
  type PodsCheck,
  type ProbeCheck,
  podsChecksFor,
  type Service,
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

export type Subject = { service: Service; snapshot: NodeSnapshot; now: Moment };

type Judge<K extends SingleCheck['kind']> = (check: Extract<SingleCheck, { kind: K }>, subject: Subject) => Verdict;

/** Judges one check by what is known of a node. */
export function judgeSingle(check: SingleCheck, subject: Subject): Verdict {
  const judge = JUDGES[check.kind] as Judge<SingleCheck['kind']>;
  return judge(check, subject);
}

/** An agent that was assigned a check and does not report on it for longer does not support it. */
const TOLD_MS = 30_000;

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

const judgeCsiNode: Judge<'csiNode'> = ({ settings: { driver } }, { snapshot: { onDemand, uid } }) => {
  if (!onDemand.csiNodes) return { ...UNKNOWN, reason: 'the CSINodes have not been listed yet' };
  const [csiNode] = onDemand.csiNodes;
  if (!csiNode) return { ...SEEN, state: 'not-ready', reason: 'the node has no CSINode' };
  if (csiNode.nodeUid !== uid)
    return { ...SEEN, state: 'not-ready', reason: 'the CSINode belongs to an earlier Node of this name' };
  if (!csiNode.drivers.includes(driver))
    return { ...SEEN, state: 'not-ready', reason: `the CSINode does not list ${driver}` };
  const problem = csiNode.storageProblems.get(driver);
  if (problem !== undefined)
    return { ...SEEN, state: 'not-ready', reason: `the CSINode reports about the storage of ${driver}: ${problem}` };
  return { ...SEEN, state: 'ready', reason: `the CSINode lists ${driver}` };
};

/** Predicates about the hardware, as agents and drivers report it. */
type InventoryPredicate =
  | { kind: 'count' | 'resource' | 'dra'; name: string; test: Order }
  | { kind: 'driver'; name: string; test: Among };

function atLeast(kind: 'count' | 'resource' | 'dra', name: string, min: number): InventoryPredicate {
  return { kind, name, test: { op: '>=', bound: [min] } };
}

/** For people: `nvidia-gpu >= 2`, or `the driver nvidia`. */
function formatPredicate({ name, test }: InventoryPredicate): string {
  return isOrder(test) ? `${name} ${test.op} ${test.bound}` : `the driver ${test.values}`;
}

const judgeDevice: Judge<'device'> = ({ settings: { name, minCount, driver } }, { snapshot }) => {
  const bound = driver === undefined ? [] : [{ kind: 'driver', name, test: { values: [driver] } } as const];
  return (
    unheardVerdict(snapshot.freshness) ?? byInventory([atLeast('count', name, minCount), ...bound], snapshot, TOLD)
  );
};

/** The first predicate that is not so decides; else the first that is unknown. */
function byInventory(
  predicates: readonly InventoryPredicate[],
  { inventory }: NodeSnapshot,
  source: typeof SEEN | typeof TOLD = SEEN,
): Verdict {
  const answers = predicates.map((predicate) => ({ predicate, ...answer(predicate, inventory) }));
  const failed = answers.find(({ truth }) => truth === 'no');
  if (failed) {
    const reason = `${formatPredicate(failed.predicate)} is required, but ${failed.found}`;
    return { ...source, state: 'not-ready', reason };
  }
  const unknown = answers.find(({ truth }) => truth === 'unknown');
  if (unknown) return { ...UNKNOWN, reason: unknown.found };
  return { ...source, state: 'ready', reason: answers.map(({ found }) => found).join(', and ') };
}

/** One good pod is enough; one that is on its way out beside it does no harm. */
export function judgePods(check: PodsCheck, { snapshot }: Pick<Subject, 'snapshot'>): Verdict {
  const { namespace } = check.settings;
  if (!snapshot.podsKnown(namespace)) {
    return { ...UNKNOWN, reason: `the pods in ${namespace} have not been listed yet` };
  }
  const own = podsOfCheck(check, snapshot.pods);
  const good = readyPodIn(own, snapshot);
  if (good) return { ...SEEN, state: 'ready', reason: `pod ${good.namespace}/${good.name} is Ready` };
  const other = own.find(({ terminating }) => !terminating) ?? own[0];
  if (!other) return { ...SEEN, state: 'not-ready', reason: noPod(check.settings) };
  return { ...SEEN, state: 'not-ready', reason: `pod ${other.namespace}/${other.name} ${problemOf(other)}` };
}

/** With what a mistake may be in: the namespace, the selector, the name of the DaemonSet. */
function noPod({ namespace, selector, daemonSet }: PodsCheck['settings']): string {
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
    case 'none':
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

function judgeProbe(check: ProbeCheck, { service, snapshot, now }: Subject): Verdict {
  const { id, settings: probe } = check;
  const { freshness, services, heardMs = now.monotonicMs, assignedMs, pods, podsKnown } = snapshot;
  const unheard = unheardVerdict(freshness);
  if (unheard) return unheard;
  const report = services.get(id);
  const isKnown = podsChecksFor(service, probe).every((each) => podsKnown(each.settings.namespace));
  const can = report ? 'yes' : canProbe(service, probe, pods);
  if (can !== 'yes') {
    const reason = `no pod of ${service.name} on the node can be probed`;
    // A pod that has no address fails; whether there has to be one, the check of the pods says.
    return can === 'no-address' && isKnown ? { ...SEEN, state: 'not-ready', reason } : { ...UNKNOWN, reason };
  }
  // While the agent is not heard, or leaves, its silence counts as it does for every check.
  if (!report && heardMs - (assignedMs.get(id) ?? heardMs) < TOLD_MS) {
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

/** How each kind is judged; all probes alike, by what the agent reports. */
const JUDGES: { readonly [K in SingleCheck['kind']]: Judge<K> } = {
  pods: judgePods,
  probe: judgeProbe,
  csiNode: judgeCsiNode,
  condition: (check, { snapshot, now }) => conditionVerdict(check, snapshot, now),
  device: judgeDevice,
  resource: ({ settings: { name, min } }, { snapshot }) => byInventory([atLeast('resource', name, min)], snapshot),
  dra: ({ settings: { driver, min } }, { snapshot }) => byInventory([atLeast('dra', driver, min)], snapshot),
};
