import type { ActiveGuard, Subject } from '@rollcall/common/guards.ts';

/** Name of the group of all nodes; pools have groups of their own, `pool NAME`. */
export const FLEET_GUARD = 'fleet';

/** In a smaller group every node may well be at fault by itself: it has no guard of its own. */
const SMALLEST = 3;

/**
 * From when on many losses are the fault of their subject, and not of the nodes: more than `few` nodes, and this share of
 * the population, lose something. `clearPercent`: the share below which that ends, where it is another one.
 */
export type Rule = { few: number; sharePercent: number; clearPercent?: number };

/** One row for each subject that is counted here. Without a share of its own, `--fleet-guard-percent` is it. */
const RULES: Record<Exclude<Subject, 'taint-budget'>, Omit<Rule, 'sharePercent'> & Partial<Rule>> = {
  agents: { few: 2, clearPercent: 40 },
  reporters: { few: 2, clearPercent: 40 },
  target: { few: 2 },
  'agent-version': { few: 2, sharePercent: 55 },
  configuration: { few: 10, sharePercent: 20 },
};

export function ruleOf(subject: keyof typeof RULES, guardPercent = 100): Rule {
  return { sharePercent: guardPercent, ...RULES[subject] };
}

/** How many nodes there are, and how many of them lose something. */
export type Population = { size: number; losing: number };

/**
 * Whether so many lose something that the nodes are not at fault. A level, not a rate: it depends on how things are, not
 * on how fast they became so (the node lifecycle controller of Kubernetes knows the same as "full disruption", at 55 % and
 * more than 2). `acts`: it was so before.
 */
export function isShared(
  { few, sharePercent, clearPercent }: Rule,
  { size, losing }: Population,
  acts = false,
): boolean {
  if (losing === 0 || size < SMALLEST) return false;
  const percent = (100 * losing) / size;
  if (acts && clearPercent !== undefined) return percent >= Math.min(clearPercent, sharePercent);
  return percent >= sharePercent && losing > few;
}

/** The groups in which a node counts: its pool and the fleet; the fleet alone, and only while no other does; none. */
export type Counts = 'always' | 'while-no-other' | 'never';

/** Counts nodes, and those of them that lose something, by group. */
export class Census {
  readonly pools = new Map<string, Population>();
  readonly #counted = { size: 0, losing: 0 };
  readonly #others = { size: 0, losing: 0 };

  add(pool: string | undefined, counts: Counts, isLosing: boolean): void {
    if (counts === 'never') return;
    count(counts === 'always' ? this.#counted : this.#others, isLosing);
    if (pool === undefined || counts !== 'always') return;
    const population = this.pools.get(pool) ?? { size: 0, losing: 0 };
    this.pools.set(pool, population);
    count(population, isLosing);
  }

  /** While none that counts is there, the fault may be the coordinator's, and all others count. */
  get fleet(): Population {
    return this.#counted.size > 0 ? this.#counted : this.#others;
  }
}

function count(population: Population, isLosing: boolean): void {
  population.size += 1;
  if (isLosing) population.losing += 1;
}

/** A node of a population. `memory.guard`: the group by which it was kept when it was counted last. */
export type Member = {
  pool: string | undefined;
  counts: Counts;
  isLosing: boolean;
  memory: { guard?: string | undefined };
  /** What was kept was not judged: where it is kept no longer, the loss begins anew. */
  renew: () => void;
};

/** Tells which groups lose something by the fault of one subject. */
export class Guard {
  readonly #rule: Rule;
  /** The groups that are kept, by name, with the number of nodes that lose something. */
  #acting: ReadonlyMap<string, number> = new Map();

  constructor(rule: Rule) {
    this.#rule = rule;
  }

  /** Decides anew which groups are kept. */
  decide({ fleet, pools }: Pick<Census, 'fleet' | 'pools'>): void {
    const groups = [
      [FLEET_GUARD, fleet] as const,
      ...[...pools].map(([pool, group]) => [nameOf(pool), group] as const),
    ];
    const acting = groups.filter(([name, group]) => isShared(this.#rule, group, this.#acting.has(name)));
    this.#acting = new Map(acting.map(([name, { losing }]) => [name, losing]));
  }

  /** Counts all nodes anew, and notes by which group each is kept. */
  judge(members: readonly Member[]): void {
    const census = new Census();
    for (const { pool, counts, isLosing } of members) census.add(pool, counts, isLosing);
    this.decide(census);
    for (const { pool, memory, renew } of members) {
      const wasKept = memory.guard !== undefined;
      memory.guard = this.of(pool);
      if (wasKept && memory.guard === undefined) renew();
    }
  }

  /** The group by which the nodes of a pool, or nodes of no pool, lose nothing now. */
  of(pool: string | undefined): string | undefined {
    if (this.#acting.has(FLEET_GUARD)) return FLEET_GUARD;
    const name = pool === undefined || this.#acting.size === 0 ? undefined : nameOf(pool);
    return name !== undefined && this.#acting.has(name) ? name : undefined;
  }

  held(): Pick<ActiveGuard, 'of' | 'nodes'>[] {
    return [...this.#acting].map(([of, nodes]) => ({ of, nodes }));
  }
}

function nameOf(pool: string): string {
  return `pool ${pool}`;
}
