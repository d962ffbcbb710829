import type { NodeRecord } from './node-record.ts';
import { isExpected, isOverdue, type Population, type Presence } from './presence.ts';

/** Below this share of overdue nodes the guard clears. */
const CLEAR_PERCENT = 40;

/**
 * Whether so many nodes are silent that the fault is the network's or the coordinator's, not the nodes'. A level with
 * hysteresis, not a rate: it depends on how things are, not on how fast they became so (the node lifecycle controller
 * of Kubernetes knows the same as "full disruption", at 55 % and more than 2).
 */
function guardHolds(active: boolean, { expected, overdue }: Population, guardPercent: number): boolean {
  if (overdue === 0) return false;
  const percent = (100 * overdue) / expected;
  if (active) return percent >= Math.min(CLEAR_PERCENT, guardPercent);
  return percent >= guardPercent && (overdue > 2 || overdue === expected);
}

/** Name of the guard over all nodes; pools have their own, `pool NAME`. */
export const FLEET_GUARD = 'fleet';

type Group = Population & { guarded: boolean; members: Set<NodeRecord> };

/** The guards over the fleet and over each pool, with those who are counted: kept up to date one by one, in O(1). */
export class SilenceGuards {
  readonly #guardPercent: number;
  readonly #groups = new Map<string, Group>();

  constructor(guardPercent: number) {
    this.#guardPercent = guardPercent;
  }

  /** The guard that keeps silence from being held against a node. */
  of(presence: Presence): string | undefined {
    return groupsOf(presence).find((name) => this.#groups.get(name)?.guarded);
  }

  /** A node is no longer in the stage that it was in before. */
  moved(record: NodeRecord, before: Presence): void {
    const { presence } = record;
    for (const name of groupsOf(presence)) {
      if (isExpected(before) && isExpected(presence)) this.#count(name, before, presence);
      else if (isExpected(presence)) this.#join(name, record);
      else if (isExpected(before)) this.#leave(name, record, before);
    }
  }

  setPool(record: NodeRecord, pool: string | undefined): void {
    const { presence } = record;
    const before = { ...presence };
    presence.pool = pool;
    if (!isExpected(presence)) return;
    if (before.pool !== undefined) this.#leave(poolGuard(before.pool), record, before);
    if (pool !== undefined) this.#join(poolGuard(pool), record);
  }

  /** Decides anew which guards hold. Those who are overdue, and of whom a guard has just let go. */
  evaluate(): NodeRecord[] {
    const released: NodeRecord[] = [];
    for (const group of this.#groups.values()) {
      const held = group.guarded;
      group.guarded = guardHolds(held, group, this.#guardPercent);
      if (!held || group.guarded) continue;
      for (const record of group.members) if (isOverdue(record.presence)) released.push(record);
    }
    return released;
  }

  active(): string[] {
    return [...this.#groups].filter(([, { guarded }]) => guarded).map(([name]) => name);
  }

  get population(): Population {
    const { expected, overdue } = this.#groups.get(FLEET_GUARD) ?? { expected: 0, overdue: 0 };
    return { expected, overdue };
  }

  #join(name: string, record: NodeRecord): void {
    const group = this.#groups.get(name) ?? { expected: 0, overdue: 0, guarded: false, members: new Set() };
    this.#groups.set(name, group);
    group.members.add(record);
    group.expected += 1;
    if (!isOverdue(record.presence)) return;
    group.overdue += 1;
    // Its silence may be judged before the guards are decided anew.
    group.guarded ||= guardHolds(false, group, this.#guardPercent);
  }

  #leave(name: string, record: NodeRecord, before: Presence): void {
    const group = this.#groups.get(name);
    if (!group) return;
    group.members.delete(record);
    group.expected -= 1;
    if (isOverdue(before)) group.overdue -= 1;
    if (group.expected === 0) this.#groups.delete(name);
  }

  #count(name: string, before: Presence, presence: Presence): void {
    const group = this.#groups.get(name);
    if (group) group.overdue += Number(isOverdue(presence)) - Number(isOverdue(before));
  }
}

function groupsOf({ pool }: Presence): string[] {
  return pool === undefined ? [FLEET_GUARD] : [FLEET_GUARD, poolGuard(pool)];
}

function poolGuard(pool: string): string {
  return `pool ${pool}`;
}
