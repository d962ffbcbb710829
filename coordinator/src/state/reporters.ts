import type { Moment } from '@rollcall/common/clock.ts';
import type { ActiveGuard } from '@rollcall/common/guards.ts';
import { selects } from '../model/label-selector.ts';
import { type ConditionCheck, conditionChecksOf, type Service } from '../model/services.ts';
import { saysReady } from './agent-signs.ts';
import { lastingOf } from './condition-history.ts';
import { Census, SilenceGuards } from './guard.ts';
import type { NodeRecord } from './node-record.ts';
import type { ObservedCondition } from './observed-conditions.ts';
import type { ObservedNode } from './observed-node.ts';
import { type ObservedPod, podsOfCheck, readyPodIn } from './observed-pod.ts';
import { isOverdue } from './presence.ts';

/** What is known of a node that bears on a condition. */
export type ConditionSight = Pick<ObservedNode, 'conditions' | 'createdAtMs'> & { pods: readonly ObservedPod[] };

type NodeSight = ConditionSight & Pick<ObservedNode, 'labels' | 'owned' | 'conditionOwners'>;

/** Since when nothing vouches for a condition on a node, and the guard that keeps that from being held against it. */
export type Doubt = { sinceMs: number | undefined; guard?: string | undefined };

const NO_DOUBT: Doubt = { sinceMs: undefined };

/** Why nothing vouches for a condition on a node, as a clause for people; `undefined` if something does. */
export function doubtOf(check: ConditionCheck, sight: ConditionSight, now: Moment): string | undefined {
  const { reporter, maxHeartbeatAgeMs, type } = check;
  if (reporter) {
    const pods = podsOfCheck({ pods: reporter }, sight.pods);
    const [pod] = pods;
    if (!pod) return 'no pod of its reporter is on the node';
    if (!readyPodIn(pods, sight)) return `its reporter ${pod.namespace}/${pod.name} is not Ready`;
  }
  const condition = conditionIn(sight.conditions, type);
  if (maxHeartbeatAgeMs === undefined || !condition) return undefined;
  const { heartbeatMs = Number.NEGATIVE_INFINITY, history } = condition;
  const quietMs = history ? now.monotonicMs - history.heartbeatSeenMs : 0;
  if (Math.max(now.wallMs - heartbeatMs, quietMs) <= maxHeartbeatAgeMs) return undefined;
  return heartbeatMs === Number.NEGATIVE_INFINITY
    ? 'it has no heartbeat'
    : `its last heartbeat is older than ${maxHeartbeatAgeMs / 1000} s`;
}

export function conditionIn(
  conditions: readonly ObservedCondition[] | undefined,
  type: string,
): ObservedCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** What the last tick found of a check on a node. `phase`: changes with what only time, or a guard, changes in its verdict. */
type Memory = { sinceMs: number | undefined; wasVouched: boolean; phase: string };

export type ReportersOptions = {
  /** How long a reporter may be away. */
  windowMs: number;
  /** Share of nodes without a reporter, of all or of a pool, from which that is not held against a node. */
  guardPercent: number;
  services: () => readonly Service[];
  /** `undefined` while the pods of a reporter are not known. */
  sight: (node: string, check: ConditionCheck) => NodeSight | undefined;
  /** The verdict on a condition may be another one, because time has passed or a guard has changed. */
  onChange: (node: string) => void;
};

/**
 * Whether the reporters of conditions are alive, node by node, in one term. What is not vouched for counts as silence
 * after the window, unless a guard holds: a dead reporter is to its condition what a dead agent is to a probe.
 */
export class Reporters {
  readonly #options: ReportersOptions;
  readonly #records: () => Iterable<NodeRecord>;
  /** By what a check says, so that one that is renamed is the same. */
  readonly #guards = new Map<string, SilenceGuards>();
  readonly #memories = new Map<string, WeakMap<NodeRecord, Memory>>();

  constructor(options: ReportersOptions, records: () => Iterable<NodeRecord>) {
    this.#options = options;
    this.#records = records;
  }

  /** As of the last tick. */
  of(check: ConditionCheck, record: NodeRecord): Doubt {
    const id = textOf(check);
    const memory = this.#memories.get(id)?.get(record);
    if (memory?.sinceMs === undefined) return NO_DOUBT;
    return { sinceMs: memory.sinceMs, guard: this.#guards.get(id)?.of(record.presence.pool) };
  }

  /** The guards that hold now, by check, and there by pool and for the fleet. */
  held(): ActiveGuard[] {
    return [...this.#alike()].flatMap(([text, [asked]]) =>
      (this.#guards.get(text)?.held() ?? []).map(({ of, nodes }) => ({
        subject: 'reporters',
        of: `${asked?.check.id}, ${of}`,
        nodes,
      })),
    );
  }

  /** Every node gets a fresh window: this replica had lost the API server. Whom a reporter vouched for is known as before. */
  renewAll(nowMs: number): void {
    for (const record of this.#records())
      for (const memories of this.#memories.values()) {
        const memory = memories.get(record);
        if (memory?.sinceMs !== undefined) memory.sinceMs = nowMs;
      }
  }

  /** The pods or conditions of a node changed: what is vouched for again has no past. */
  see(record: NodeRecord, now: Moment): void {
    for (const asked of this.#asked()) this.#judge(asked, record, now);
  }

  /** Looks at every reporter. To be called about once a second. */
  tick(now: Moment): void {
    const alike = this.#alike();
    for (const known of [this.#guards, this.#memories])
      for (const id of known.keys()) if (!alike.has(id)) known.delete(id);
    for (const [text, asked] of alike) this.#look(text, asked, now);
  }

  #asked(): Asked[] {
    const { services } = this.#options;
    return services().flatMap((service) => conditionChecksOf(service).map((check) => ({ check, service })));
  }

  /** Checks that say the same are one, on the nodes of all their services. */
  #alike(): Map<string, Asked[]> {
    return Map.groupBy(this.#asked(), ({ check }) => textOf(check));
  }

  /** Remembers whether the condition is vouched for; `undefined` on a node that the check is not for. */
  #judge({ check, service }: Asked, record: NodeRecord, now: Moment): Seen | undefined {
    const sight = this.#options.sight(record.name, check);
    if (!sight || !selects(service.nodeSelector, sight.labels)) return undefined;
    const id = textOf(check);
    const memories = this.#memories.get(id) ?? new WeakMap<NodeRecord, Memory>();
    const memory = memories.get(record) ?? { sinceMs: undefined, wasVouched: false, phase: '' };
    this.#memories.set(id, memories.set(record, memory));
    const isDoubted = doubtOf(check, sight, now) !== undefined;
    memory.sinceMs = isDoubted ? (memory.sinceMs ?? now.monotonicMs) : undefined;
    // What the Node says was vouched for when the term before said so.
    memory.wasVouched ||= !isDoubted || saysReady(sight, service);
    return { record, memory, lasting: lastingIn(check, sight, now) };
  }

  #look(id: string, asked: readonly Asked[], now: Moment): void {
    const { windowMs, guardPercent, onChange } = this.#options;
    const nowMs = now.monotonicMs;
    const guards = this.#guards.get(id) ?? new SilenceGuards(guardPercent);
    this.#guards.set(id, guards);
    const seen = [...this.#records()].flatMap((record) => {
      const [first] = asked.flatMap((each) => this.#judge(each, record, now) ?? []);
      return first ?? [];
    });
    const census = new Census();
    for (const { record, memory } of seen) {
      const { sinceMs, wasVouched } = memory;
      const overdue = sinceMs !== undefined && isOverdue(sinceMs + windowMs, nowMs, windowMs);
      census.add({ pool: record.presence.pool, expectedMs: 0, wasHeard: wasVouched }, overdue);
    }
    const guardsBefore = new Map(seen.map(({ record }) => [record, guards.of(record.presence.pool)]));
    guards.decide(census);
    for (const { record, memory, lasting } of seen) {
      const guard = guards.of(record.presence.pool);
      // What the guard protected was not judged, and gets one window.
      const isReleased = guard === undefined && guardsBefore.get(record) !== undefined;
      if (isReleased && memory.sinceMs !== undefined) memory.sinceMs = nowMs;
      const { sinceMs } = memory;
      const doubt = sinceMs === undefined ? 'vouched' : (guard ?? (nowMs - sinceMs >= windowMs ? 'silent' : 'doubted'));
      const phase = `${doubt} ${lasting}`;
      if (phase !== memory.phase) onChange(record.name);
      memory.phase = phase;
    }
  }
}

const texts = new WeakMap<ConditionCheck, string>();

/** What a check says, without its name. */
function textOf(check: ConditionCheck): string {
  const { name: _name, id: _id, ...says } = check;
  const known = texts.get(check) ?? JSON.stringify(says);
  texts.set(check, known);
  return known;
}

type Asked = { check: ConditionCheck; service: Service };
type Seen = { record: NodeRecord; memory: Memory; lasting: string | undefined };

/** Whether a condition has been as it is for long enough. */
function lastingIn({ type, forMs }: ConditionCheck, sight: ConditionSight, now: Moment): string | undefined {
  const condition = conditionIn(sight.conditions, type);
  return condition && lastingOf(condition, forMs, sight, now).state;
}
