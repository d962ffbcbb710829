import type { Moment } from '@rollcall/common/clock.ts';
import { isDisturbed } from '@rollcall/common/node-lifecycle.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { afterFall, type Damping, UNDAMPED } from '../../model/inventory/damping.ts';
import { selectsYet } from '../../model/label-selector.ts';
import type { Service } from '../../model/services.ts';
import type { NodeRecord } from '../../state/node-record.ts';
import { lifecycleOf } from '../../state/observed-conditions.ts';
import { conditionIn } from '../../state/reporters.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import { hasStarted, startedGeneration, startedServices, wasReady } from '../../state/started-services.ts';
import { type GraceMemory, Graces, isShownReady, NOTHING_PASSED } from './grace.ts';
import {
  hasReadyPod,
  judgeService,
  type Observer,
  type ServiceVerdict,
  type Sighting,
  type SpeakingAgent,
} from './verdict.ts';

/** The state of a service on a node, as it is published. */
export type ServiceReadiness = ServiceVerdict & {
  /** The state by the evidence alone, if it is another one because a guard or damping holds it back. */
  evidence?: ServiceVerdict;
  /** It was never ready on the node, and its startup deadline is over. */
  isLate?: true;
  /** Whether the service applies to the node is unknown. */
  isUndecided?: true;
  /** Since when it has this state, as far as this replica knows; by the wall clock. */
  sinceMs: number;
  damping?: {
    /** The end of damping, by the wall clock. */
    untilMs: number;
    /** How often it became not ready in the last minutes. */
    falls: number;
  };
};

/** The service was not evaluated yet. */
export const UNJUDGED: ServiceReadiness = {
  state: 'unknown',
  reason: 'it has not been checked yet',
  cause: 'unknown',
  sinceMs: 0,
};

export type NodeReadiness = ReadonlyMap<string, ServiceReadiness>;

/** The published state of each service, by its name. */
export function readinessOf(judgements: readonly Judgement[]): NodeReadiness {
  return new Map(judgements.map(({ service, shown }) => [service.name, shown]));
}

/** The verdict on a service that is no longer checked on a node where it was ready once. */
function startedVerdict(service: Service, started: ReadonlyMap<string, string>): ServiceVerdict | undefined {
  if (!hasStarted(service, started)) return undefined;
  const then = startedGeneration(service, started);
  const { origin } = service;
  const isAsThen = origin.kind !== 'object' || origin.generation === then;
  const now = isAsThen ? '' : `, and generation ${origin.generation} was not checked there`;
  const reason = `it was ready on the node once, which is enough for the mode Startup: with generation ${then}${now}`;
  return { state: 'ready', reason, cause: 'evidence' };
}

function maybeNotFor(why: string): ServiceVerdict {
  return {
    state: 'unknown',
    reason: `it is unknown whether the service applies to this node: ${why}`,
    cause: 'unknown',
  };
}

/** The reason of the condition of a service that was never ready on the node. */
export const STARTUP_DEADLINE_EXCEEDED = 'StartupDeadlineExceeded';

/** An agent that comes so soon after its Node replaces none. */
const FIRST_AGENT_MS = 60_000;

type Memory = {
  /** Its startup deadline is over. */
  isLate?: boolean;
  /** Of a dry run, which is not counted. */
  isDryRun?: boolean;
  /** The last state by the evidence; `undefined` before the first. */
  ready: boolean | undefined;
  damping: Damping;
  graces: GraceMemory | undefined;
  shown: ServiceVerdict['state'];
  sinceMs: number;
};

/** The memory of a node, by service, for this list of services. */
type NodeMemory = { services: readonly Service[]; byName: Map<string, Memory> };

/**
 * The judgement of a service from a snapshot, and the memory to keep. `leftMs`: until its startup deadline or a grace ends,
 * or infinite.
 */
export type Judgement = { service: Service; sighting: Sighting; next: Memory; shown: ServiceReadiness; leftMs: number };

export type ReadinessOptions = {
  services: () => readonly Service[];
  observer: Observer;
  /** Whether the status of a NodeService is about its present generation; defaults to yes. */
  isReported?: (service: Service) => boolean;
  /** Why it is unknown whether a node gets a label that it does not have. */
  undecided?: (snapshot: NodeSnapshot) => (label: string) => string | undefined;
};

/**
 * Judges services by snapshots of their nodes, and remembers for one term what it takes to hold back a service that comes
 * and goes. Withdrawal is never delayed, only the way back.
 */
export class ReadinessTracker {
  readonly #options: ReadinessOptions;
  readonly #memories = new WeakMap<NodeRecord, NodeMemory>();
  /** When startup deadlines and graces end, by the monotonic clock, each with its node. */
  readonly #deadlines = new Map<Memory, { record: NodeRecord; endMs: number }>();
  /** Whether the term before had reported of a service as it is now. This term does so once it has evaluated it. */
  readonly #reported = new WeakMap<Service, boolean>();
  /** The damped services, each with its node. */
  readonly #held = new Map<Memory, NodeRecord>();

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** Judges every service that selects the node, or may select it. Changes nothing. */
  judge(record: NodeRecord, snapshot: NodeSnapshot, now: Moment): Judgement[] {
    const memories = this.#memories.get(record)?.byName;
    const started = startedServices(snapshot);
    // On a node without an agent, no label of an agent comes.
    const { state } = snapshot.freshness;
    const isAgentless = state === 'none' || (state === 'absent' && !snapshot.machine);
    const undecided = (!isAgentless && this.#options.undecided?.(snapshot)) || (() => undefined);
    const judgements: Judgement[] = [];
    for (const service of this.#options.services()) {
      const isFor = selectsYet(service.nodeSelector, snapshot.labels, undecided);
      if (!isFor) continue;
      const memory = memories?.get(service.name);
      const graces = new Graces(memory?.graces, service, snapshot, this.#isReported);
      const evidence =
        isFor === true
          ? (startedVerdict(service, started) ?? judgeService(service, snapshot, now, graces))
          : maybeNotFor(isFor.unknown);
      const judgement = this.#judgeBy(memory, evidence, { service, snapshot, now });
      // What was not judged is remembered as it was.
      if (isFor === true) judgement.next.graces = graces.next;
      const { shown } = judgement;
      if (isFor !== true) shown.isUndecided = true;
      const left = isFor === true ? leftMs(service, snapshot, now, started) : Number.POSITIVE_INFINITY;
      // A node that was not heard yet may have become ready before this leader came.
      const isKnown = shown.state !== 'unknown' || snapshot.freshness.state !== 'unheard';
      if (left <= 0 && isKnown && shown.state !== 'ready') shown.isLate = true;
      const graceMs = graces.endMs - now.monotonicMs;
      judgements.push({ ...judgement, leftMs: left > 0 ? Math.min(left, graceMs) : graceMs });
    }
    return judgements;
  }

  /**
   * Remembers what was evaluated, for the next time. Returns the services that begin to be held back, and those whose
   * startup deadline has just ended. To record the same again changes nothing.
   */
  record(
    record: NodeRecord,
    snapshot: NodeSnapshot,
    judgements: readonly Judgement[],
    now: Moment,
  ): { heldBack: Service[]; late: Service[] } {
    const { observer } = this.#options;
    const nowMs = now.monotonicMs;
    const late: Service[] = [];
    const { name: node } = snapshot;
    const agent = speakingAgent(snapshot, now);
    if (agent) observer.sees(node, agent, nowMs);
    const memories = this.#memoriesOf(record, this.#options.services());
    const heldBack: Service[] = [];
    // What became of the checks of a service is not seen where it does not belong.
    const judged = new Set(judgements.map(({ service }) => service.name));
    for (const [name, memory] of memories) if (!judged.has(name)) memory.graces = NOTHING_PASSED;
    for (const { service, sighting, next, shown, leftMs: left } of judgements) {
      this.#reported.set(service, this.#isReported(service));
      observer.record({ node, agent, service: service.name, sighting }, nowMs);
      const known = memories.get(service.name);
      const memory = Object.assign(known ?? next, next);
      memories.set(service.name, memory);
      const wasTold = known ? known.isLate === true : saysLate(service, snapshot);
      if (shown.isLate && !wasTold) late.push(service);
      memory.isLate = shown.isLate === true;
      memory.isDryRun = service.dryRun !== undefined;
      if (left < Number.POSITIVE_INFINITY) this.#deadlines.set(memory, { record, endMs: nowMs + left });
      else this.#deadlines.delete(memory);
      if (!shown.damping || this.#held.has(memory)) continue;
      this.#held.set(memory, record);
      heldBack.push(service);
    }
    return { heldBack, late };
  }

  /** What Nodes say of a service that was edited while no replica led follows from its checks before. */
  readonly #isReported = (service: Service): boolean =>
    this.#reported.get(service) ?? this.#options.isReported?.(service) ?? true;

  /** Forgets the services that are gone, when the list of services is another one. */
  #memoriesOf(record: NodeRecord, services: readonly Service[]): Map<string, Memory> {
    const known = this.#memories.get(record);
    if (known?.services === services) return known.byName;
    const names = new Set(services.map(({ name }) => name));
    const byName = new Map(known?.byName.entries().filter(([name]) => names.has(name)));
    this.#memories.set(record, { services, byName });
    return byName;
  }

  /** Nodes on which a service has just ceased to be held back, or a startup deadline or a grace has ended. */
  released(nowMs: number): string[] {
    const released: string[] = [];
    for (const [memory, { record, endMs }] of this.#deadlines) {
      if (endMs > nowMs && !record.ended) continue;
      this.#deadlines.delete(memory);
      if (!record.ended) released.push(record.name);
    }
    for (const [memory, record] of this.#held) {
      if (memory.damping.heldUntilMs > nowMs && !record.ended) continue;
      this.#held.delete(memory);
      if (!record.ended) released.push(record.name);
    }
    return released;
  }

  /** How many services are held back, dry runs apart. */
  get heldCount(): number {
    return [...this.#held].filter(([{ isDryRun }, { ended }]) => !ended && !isDryRun).length;
  }

  #judgeBy(
    memory: Memory | undefined,
    evidence: ServiceVerdict,
    { service, snapshot, now }: { service: Service; snapshot: NodeSnapshot; now: Moment },
  ): Omit<Judgement, 'leftMs'> {
    const { ready, damping, shown: shownBefore, sinceMs } = memory ?? firstMemory(now);
    const sighting = sightingOf(service, snapshot, { evidence, wasReady: ready });
    const heldUntilMs = this.#options.observer.heldUntilMs(
      { node: snapshot.name, agent: speakingAgent(snapshot, now), service: service.name, sighting },
      now.monotonicMs,
    );
    const verdict = heldUntilMs === undefined ? evidence : doubted(evidence, heldUntilMs, now);
    // What a drain or maintenance stops does not come and go by itself.
    const hasFallen = ready === true && verdict.state === 'not-ready' && !isDisturbed(lifecycleOf(snapshot));
    const next: Memory = {
      ready: verdict.state === 'unknown' ? ready : verdict.state === 'ready',
      damping: hasFallen ? afterFall(damping, now.monotonicMs) : damping,
      graces: memory?.graces,
      shown: shownBefore,
      sinceMs,
    };
    const shown = show(next, verdict, now);
    if (shown.state !== evidence.state) shown.evidence = evidence;
    return { service, sighting, next, shown };
  }
}

/** Milliseconds until a service that was never ready on a node is late; infinite where it cannot be. */
function leftMs(
  service: Service,
  { createdAtMs }: NodeSnapshot,
  { wallMs }: Moment,
  started: ReadonlyMap<string, string>,
): number {
  const { startupDeadlineMs, origin } = service;
  if (startupDeadlineMs === undefined || wasReady(service, started)) return Number.POSITIVE_INFINITY;
  // Before the service was there, it could not start.
  const sinceMs = origin.kind === 'object' ? Math.max(createdAtMs, origin.createdAtMs) : createdAtMs;
  return sinceMs + startupDeadlineMs - wallMs;
}

/** Whether the Node says that the service was not ready in time: the term before has told it. */
export function saysLate(
  { publish: { condition } }: Service,
  { conditions }: Pick<NodeSnapshot, 'conditions'>,
): boolean {
  return condition !== undefined && conditionIn(conditions, condition)?.reason === STARTUP_DEADLINE_EXCEEDED;
}

/** A service that was not judged in this term yet was ready before if the Node shows it. */
function sightingOf(
  service: Service,
  snapshot: NodeSnapshot,
  { evidence, wasReady }: { evidence: ServiceVerdict; wasReady: boolean | undefined },
): Sighting {
  const isUnseen = evidence.cause === 'agent' && evidence.state === 'not-ready' && hasReadyPod(service, snapshot);
  if (evidence.state !== 'unknown' && !isUnseen) return 'settled';
  if (!isUnseen || wasReady === false) return 'unchanged';
  return wasReady || isShownReady(service, snapshot) ? 'lost' : 'gone';
}

function speakingAgent(
  { agentVersion: version, agentBornMs = 0, createdAtMs }: NodeSnapshot,
  now: Moment,
): SpeakingAgent | undefined {
  const isFirst = agentBornMs - createdAtMs < FIRST_AGENT_MS;
  const startedMs = isFirst ? Number.NEGATIVE_INFINITY : now.monotonicMs - (now.wallMs - agentBornMs);
  return version === undefined ? undefined : { version, startedMs };
}

function doubted({ reason }: ServiceVerdict, heldUntilMs: number, now: Moment): ServiceVerdict {
  const until = rfc3339(now.wallMs + heldUntilMs - now.monotonicMs);
  const why = 'since most agents that were replaced report the same, although the pods are Ready';
  return { state: 'unknown', reason: `${reason}; held until ${until}, ${why}`, cause: 'unknown' };
}

function firstMemory(now: Moment): Memory {
  return { ready: undefined, damping: UNDAMPED, graces: undefined, shown: 'unknown', sinceMs: now.wallMs };
}

/** Returns the state to publish; notes in `memory` since when it holds. */
function show(memory: Memory, verdict: ServiceVerdict, now: Moment): ServiceReadiness {
  const { fallsMs, heldUntilMs } = memory.damping;
  const leftMs = heldUntilMs - now.monotonicMs;
  const damping = leftMs > 0 ? { untilMs: now.wallMs + leftMs, falls: fallsMs.length } : undefined;
  const shown = damping ? heldBack(verdict, damping) : verdict;
  if (memory.shown !== shown.state) {
    memory.shown = shown.state;
    memory.sinceMs = now.wallMs;
  }
  return { ...shown, sinceMs: memory.sinceMs, ...(damping ? { damping } : {}) };
}

function heldBack(verdict: ServiceVerdict, { untilMs, falls }: { untilMs: number; falls: number }): ServiceVerdict {
  if (verdict.state !== 'ready') return verdict;
  const reason = `held back until ${rfc3339(untilMs)}, since it became not ready ${falls} times in 5 minutes; now: ${verdict.reason}`;
  return { state: 'not-ready', reason, cause: 'damping' };
}
