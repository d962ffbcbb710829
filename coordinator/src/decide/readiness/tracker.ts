import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { NodeRecord } from '../../fleet/node-record.ts';
import type { NodeSnapshot } from '../../fleet/snapshot.ts';
import { hasStarted, startedServices } from '../../fleet/started-services.ts';
import { afterFall, type Damping, UNDAMPED } from '../../inventory/damping.ts';
import { selects } from '../../setup/label-selector.ts';
import type { Service } from '../../setup/services.ts';
import { hasReadyPod, judgeService, type Verdict } from './verdict.ts';

/** Both clocks at one moment, in milliseconds: the first for durations, the second for people. */
export type Moment = { monotonicMs: number; wallMs: number };

/** What is to be shown of a service on a node. */
export type ServiceReadiness = Verdict & {
  /** What the evidence alone says, where that is another state: something is held back, or doubted. */
  evidence?: Verdict;
  /** Since when it is so, as far as this replica knows; by the wall clock. */
  sinceMs: number;
  damping?: {
    /** By the wall clock. */
    untilMs: number;
    /** How often it became not ready in the last minutes. */
    falls: number;
  };
};

/** Nothing was looked at yet. */
export const UNJUDGED: ServiceReadiness = {
  state: 'unknown',
  reason: 'it has not been checked yet',
  cause: 'unknown',
  sinceMs: 0,
};

export type NodeReadiness = ReadonlyMap<string, ServiceReadiness>;

const STARTED: Verdict = {
  state: 'ready',
  reason: 'it was ready on the node once, which is enough for the mode Startup',
  cause: 'evidence',
};

type Memory = {
  /** What the evidence said last; `undefined` before it said anything. */
  ready: boolean | undefined;
  damping: Damping;
  shown: Verdict['state'];
  sinceMs: number;
};

/** What is remembered of a node, by service, for this list of services. */
type NodeMemory = { services: readonly Service[]; byName: Map<string, Memory> };

export type ReadinessOptions = {
  services: () => readonly Service[];
  /** A service begins to be held back. */
  onHeldBack: (node: NodeSnapshot, service: Service) => void;
  observer: Observing;
};

/** May doubt what an agent says that was replaced a moment ago. Times are by the monotonic clock. */
type Observing = {
  sees: (node: string, version: string, nowMs: number) => void;
  /**
   * Is asked about every verdict on a service: the agent has just lost one whose pod is Ready (`lost`), did not see it
   * before or does not know (`unchanged`), or is not the cause (`settled`). Returns until when a loss is held, if so.
   */
  holdsUntilMs: (
    node: string,
    service: string,
    sighting: 'lost' | 'unchanged' | 'settled',
    nowMs: number,
  ) => number | undefined;
};

/**
 * Judges services by snapshots of their nodes, one after the other, and remembers what it takes to hold back one that
 * comes and goes, for one term. Withdrawal is never delayed, only the way back.
 */
export class ReadinessTracker {
  readonly #options: ReadinessOptions;
  readonly #memories = new WeakMap<NodeRecord, NodeMemory>();
  /** What is held back, and on which node. */
  readonly #held = new Map<Memory, NodeRecord>();

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** The readiness of every service that the node is for, by its name. Judging the same snapshot again changes nothing. */
  judge(record: NodeRecord, snapshot: NodeSnapshot, now: Moment): NodeReadiness {
    const { observer } = this.#options;
    if (snapshot.agentVersion !== undefined) observer.sees(snapshot.name, snapshot.agentVersion, now.monotonicMs);
    const services = this.#options.services();
    const memories = this.#memoriesOf(record, services);
    const readiness = new Map<string, ServiceReadiness>();
    const started = startedServices(snapshot);
    for (const service of services) {
      if (!selects(service.nodeSelector, snapshot.labels)) continue;
      const memory = memories.get(service.name) ?? firstMemory(now);
      memories.set(service.name, memory);
      const evidence = hasStarted(service, started) ? STARTED : judgeService(service, snapshot, now.monotonicMs);
      const verdict = this.#doubted(service, snapshot, { evidence, wasReady: memory.ready === true, now });
      noteFall(memory, verdict, now);
      const shown = show(memory, verdict, now);
      if (shown.state !== evidence.state) shown.evidence = evidence;
      readiness.set(service.name, shown);
      if (!shown.damping || this.#held.has(memory)) continue;
      this.#held.set(memory, record);
      this.#options.onHeldBack(snapshot, service);
    }
    return readiness;
  }

  /** Forgets the services that are gone, when the list of services is another one. */
  #memoriesOf(record: NodeRecord, services: readonly Service[]): Map<string, Memory> {
    const known = this.#memories.get(record);
    if (known?.services === services) return known.byName;
    const names = new Set(services.map(({ name }) => name));
    const byName = new Map(known?.byName.entries().filter(([name]) => names.has(name)));
    this.#memories.set(record, { services, byName });
    return byName;
  }

  /** Nodes on which a service has just ceased to be held back. */
  released(nowMs: number): string[] {
    const released: string[] = [];
    for (const [memory, record] of this.#held) {
      if (memory.damping.heldUntilMs > nowMs && !record.ended) continue;
      this.#held.delete(memory);
      if (!record.ended) released.push(record.name);
    }
    return released;
  }

  /** How many services are held back. */
  get heldCount(): number {
    return this.#held
      .values()
      .filter(({ ended }) => !ended)
      .toArray().length;
  }

  #doubted(
    service: Service,
    snapshot: NodeSnapshot,
    { evidence, wasReady, now }: { evidence: Verdict; wasReady: boolean; now: Moment },
  ): Verdict {
    const { observer } = this.#options;
    const isUnseen = evidence.cause === 'agent' && evidence.state === 'not-ready' && hasReadyPod(service, snapshot);
    const isSettled = evidence.state !== 'unknown' && !isUnseen;
    const sighting = isSettled ? 'settled' : isUnseen && wasReady ? 'lost' : 'unchanged';
    const untilMs = observer.holdsUntilMs(snapshot.name, service.name, sighting, now.monotonicMs);
    if (untilMs === undefined) return evidence;
    const until = rfc3339(now.wallMs + untilMs - now.monotonicMs);
    const why = 'since most agents that were replaced report the same, although the pods are Ready';
    return { state: 'unknown', reason: `${evidence.reason}; held until ${until}, ${why}`, cause: 'unknown' };
  }
}

function firstMemory(now: Moment): Memory {
  return { ready: undefined, damping: UNDAMPED, shown: 'unknown', sinceMs: now.wallMs };
}

function noteFall(memory: Memory, { state }: Verdict, now: Moment): void {
  if (state === 'unknown') return;
  if (memory.ready && state === 'not-ready') memory.damping = afterFall(memory.damping, now.monotonicMs);
  memory.ready = state === 'ready';
}

function show(memory: Memory, verdict: Verdict, now: Moment): ServiceReadiness {
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

function heldBack(verdict: Verdict, { untilMs, falls }: { untilMs: number; falls: number }): Verdict {
  if (verdict.state !== 'ready') return verdict;
  const reason = `held back until ${rfc3339(untilMs)}, since it became not ready ${falls} times in 5 minutes; now: ${verdict.reason}`;
  return { state: 'not-ready', reason, cause: 'damping' };
}
