import type { ActiveGuard } from '@rollcall/common/guards.ts';
import type { Presence } from './presence.ts';

/** Below this share of overdue nodes the guard clears. */
const CLEAR_PERCENT = 40;

/** In a smaller group every node may well be silent by itself: it has no guard of its own. */
const SMALLEST = 3;

/** Name of the guard over all nodes; pools have their own, `pool NAME`. */
export const FLEET_GUARD = 'fleet';

/** How many nodes count in a guard, and how many of them are overdue. */
export type Population = { expected: number; overdue: number };

/**
 * Counts the nodes whose agent is expected, and was heard in this term or by the term before. While no agent of the fleet
 * was ever heard, the fault may be the coordinator's, so that the fleet counts all of them.
 */
export class Census {
  readonly pools = new Map<string, Population>();
  readonly #heard = { expected: 0, overdue: 0 };
  readonly #unheard = { expected: 0, overdue: 0 };

  add({ pool, expectedMs, wasHeard }: Pick<Presence, 'pool' | 'expectedMs' | 'wasHeard'>, isOverdue: boolean): void {
    if (expectedMs === undefined) return;
    count(wasHeard ? this.#heard : this.#unheard, isOverdue);
    if (pool === undefined || !wasHeard) return;
    let population = this.pools.get(pool);
    if (!population) {
      population = { expected: 0, overdue: 0 };
      this.pools.set(pool, population);
    }
    count(population, isOverdue);
  }

  get fleet(): Population {
    return this.#heard.expected > 0 ? this.#heard : this.#unheard;
  }
}

function count(population: Population, isOverdue: boolean): void {
  population.expected += 1;
  if (isOverdue) population.overdue += 1;
}

/** The guards over the fleet and over each pool. */
export class SilenceGuards {
  readonly #guardPercent: number;
  #counts: Pick<Census, 'fleet' | 'pools'> = new Census();
  #isFleetGuarded = false;
  /** The names of guards by the pools over which they hold. */
  #pools: ReadonlyMap<string, string> = new Map();

  constructor(guardPercent: number) {
    this.#guardPercent = guardPercent;
  }

  /** Decides anew which guards hold. */
  decide(counts: Pick<Census, 'fleet' | 'pools'>): void {
    const { fleet, pools } = counts;
    this.#counts = counts;
    this.#isFleetGuarded = this.#holds(this.#isFleetGuarded, fleet);
    const guarded = [...pools].filter(([pool, population]) => this.#holds(this.#pools.has(pool), population));
    this.#pools = new Map(guarded.map(([pool]) => [pool, `pool ${pool}`]));
  }

  /** The guard that keeps silence from being held against the nodes of a pool, or against nodes of no pool. */
  of(pool: string | undefined): string | undefined {
    if (this.#isFleetGuarded) return FLEET_GUARD;
    return pool === undefined ? undefined : this.#pools.get(pool);
  }

  /** The guards that hold, by name, with the number of nodes that are overdue. */
  held(): Pick<ActiveGuard, 'of' | 'nodes'>[] {
    const { fleet, pools } = this.#counts;
    const held = [...this.#pools].map(([pool, of]) => ({ of, nodes: pools.get(pool)?.overdue ?? 0 }));
    return this.#isFleetGuarded ? [{ of: FLEET_GUARD, nodes: fleet.overdue }, ...held] : held;
  }

  /**
   * Whether so many nodes are silent that the fault is the network's or the coordinator's, not the nodes'. A level with
   * hysteresis, not a rate: it depends on how things are, not on how fast they became so (the node lifecycle controller
   * of Kubernetes knows the same as "full disruption", at 55 % and more than 2).
   */
  #holds(held: boolean, { expected, overdue }: Population): boolean {
    if (overdue === 0 || expected < SMALLEST) return false;
    const percent = (100 * overdue) / expected;
    if (held) return percent >= Math.min(CLEAR_PERCENT, this.#guardPercent);
    return percent >= this.#guardPercent && overdue >= SMALLEST;
  }
}
