import { selects } from '../model/label-selector.ts';
import { type ConditionCheck, conditionChecksOf, type Service } from '../model/services.ts';
import { Census, SilenceGuards } from './guard.ts';
import type { NodeRecord } from './node-record.ts';
import type { ObservedCondition } from './observed-conditions.ts';
import type { ObservedNode } from './observed-node.ts';
import { type ObservedPod, podsOfCheck, readyPodIn } from './observed-pod.ts';
import { isOverdue } from './presence.ts';

/** What is known of a node that bears on a condition. */
export type ConditionSight = Pick<ObservedNode, 'conditions' | 'createdAtMs'> & { pods: readonly ObservedPod[] };

/** Since when nothing vouches for a condition on a node, and the guard that keeps that from being held against it. */
export type Doubt = { sinceMs: number | undefined; guard?: string | undefined };

const NO_DOUBT: Doubt = { sinceMs: undefined };

/** Why nothing vouches for a condition on a node, as a clause for people; `undefined` if something does. */
export function doubtOf(check: ConditionCheck, sight: ConditionSight, wallMs: number): string | undefined {
  const { reporter, maxHeartbeatAgeMs, type } = check;
  if (reporter) {
    const pods = podsOfCheck({ pods: reporter }, sight.pods);
    const [pod] = pods;
    if (!pod) return 'no pod of its reporter is on the node';
    if (!readyPodIn(pods, sight)) return `its reporter ${pod.namespace}/${pod.name} is not Ready`;
  }
  const condition = conditionIn(sight.conditions, type);
  if (maxHeartbeatAgeMs === undefined || !condition) return undefined;
  const { heartbeatMs = Number.NEGATIVE_INFINITY } = condition;
  if (wallMs - heartbeatMs <= maxHeartbeatAgeMs) return undefined;
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
  sight: (node: string, check: ConditionCheck) => (ConditionSight & Pick<ObservedNode, 'labels'>) | undefined;
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
  /** By the id of the check. */
  readonly #guards = new Map<string, SilenceGuards>();
  readonly #memories = new Map<string, WeakMap<NodeRecord, Memory>>();

  constructor(options: ReportersOptions, records: () => Iterable<NodeRecord>) {
    this.#options = options;
    this.#records = records;
  }

  /** As of the last tick. */
  of(id: string, record: NodeRecord): Doubt {
    const memory = this.#memories.get(id)?.get(record);
    if (memory?.sinceMs === undefined) return NO_DOUBT;
    return { sinceMs: memory.sinceMs, guard: this.#guards.get(id)?.of(record.presence.pool) };
  }

  /** Names of the guards that hold now. */
  activeGuards(): string[] {
    return [...this.#guards].flatMap(([id, guards]) => guards.active().map((guard) => `${guard}, reporters of ${id}`));
  }

  /** Every node gets a fresh window: this replica had lost the API server. */
  renewAll(): void {
    this.#memories.clear();
  }

  /** Looks at every reporter. To be called about once a second. Times: `nowMs` monotonic, `wallMs` by the wall clock. */
  tick(nowMs: number, wallMs: number): void {
    const checks = this.#options
      .services()
      .flatMap((service) => conditionChecksOf(service).map((check) => ({ check, service })));
    const ids = new Set(checks.map(({ check }) => check.id));
    for (const known of [this.#guards, this.#memories])
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    for (const { check, service } of checks) this.#look(check, service, { nowMs, wallMs });
  }

  #look(check: ConditionCheck, service: Service, { nowMs, wallMs }: { nowMs: number; wallMs: number }): void {
    const { windowMs, guardPercent, sight: sightOf, onChange } = this.#options;
    const { id } = check;
    const memories = this.#memories.get(id) ?? new WeakMap<NodeRecord, Memory>();
    const guards = this.#guards.get(id) ?? new SilenceGuards(guardPercent);
    this.#memories.set(id, memories);
    this.#guards.set(id, guards);
    const census = new Census();
    const seen: { record: NodeRecord; memory: Memory; isHeld: boolean }[] = [];
    for (const record of this.#records()) {
      const sight = sightOf(record.name, check);
      if (!sight || !selects(service.nodeSelector, sight.labels)) continue;
      const before = memories.get(record);
      const isDoubted = doubtOf(check, sight, wallMs) !== undefined;
      const sinceMs = isDoubted ? (before?.sinceMs ?? nowMs) : undefined;
      const wasVouched = !isDoubted || before?.wasVouched === true;
      const memory = { sinceMs, wasVouched, phase: before?.phase ?? '' };
      memories.set(record, memory);
      seen.push({ record, memory, isHeld: hasHeld(check, sight, wallMs) });
      const { pool } = record.presence;
      const silentMs = (sinceMs ?? nowMs) + windowMs;
      census.add({ pool, expectedMs: 0, wasHeard: wasVouched }, isDoubted && isOverdue(silentMs, nowMs, windowMs));
    }
    guards.decide(census);
    for (const { record, memory, isHeld } of seen) {
      const { sinceMs } = memory;
      const guard = guards.of(record.presence.pool);
      const doubt = sinceMs === undefined ? 'vouched' : (guard ?? (nowMs - sinceMs >= windowMs ? 'silent' : 'doubted'));
      const phase = `${doubt} ${isHeld}`;
      if (phase !== memory.phase) onChange(record.name);
      memory.phase = phase;
    }
  }
}

/** Whether a condition has been as it is for long enough. */
function hasHeld({ type, forMs }: ConditionCheck, { conditions }: ConditionSight, wallMs: number): boolean {
  return wallMs >= Date.parse(conditionIn(conditions, type)?.lastTransitionTime ?? '') + forMs;
}
