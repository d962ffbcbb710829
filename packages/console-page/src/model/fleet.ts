import type { NodeSummary } from '@rollcall/common/console.ts';
import { type Counts, noCounts, type State, stateOfNode } from './node-state.ts';

export type Pool = { name: string; nodes: readonly string[] };

/** What nodes of no pool are listed under. */
export const NO_POOL = '';

const byName = new Intl.Collator('en', { numeric: true }).compare;

/** The nodes as they were told last. Counts and pools follow as nodes come, change and go. */
export class Fleet {
  readonly #nodes = new Map<string, NodeSummary>();
  readonly #states = new Map<string, State>();
  readonly #counts = noCounts();
  #pools: readonly Pool[] | undefined;

  get size(): number {
    return this.#nodes.size;
  }

  get counts(): Counts {
    return this.#counts;
  }

  node(name: string): NodeSummary | undefined {
    return this.#nodes.get(name);
  }

  nodes(): Iterable<NodeSummary> {
    return this.#nodes.values();
  }

  /** By pool, both in the order of their names, so that a node stays where it was; nodes of no pool come last. */
  pools(): readonly Pool[] {
    this.#pools ??= this.#grouped();
    return this.#pools;
  }

  /** Takes in a node that is new, or other than it was. */
  set(node: NodeSummary): void {
    const before = this.#nodes.get(node.name);
    if (!before || before.pool !== node.pool) this.#pools = undefined;
    this.#uncount(node.name);
    const state = stateOfNode(node);
    this.#nodes.set(node.name, node);
    this.#states.set(node.name, state);
    this.#counts[state] += 1;
  }

  delete(name: string): void {
    this.#uncount(name);
    this.#states.delete(name);
    if (this.#nodes.delete(name)) this.#pools = undefined;
  }

  /** Takes in a whole list; what is not in it is gone. Returns the names that were. */
  replace(nodes: readonly NodeSummary[]): string[] {
    const names = new Set(nodes.map(({ name }) => name));
    const gone = [...this.#nodes.keys()].filter((name) => !names.has(name));
    for (const name of gone) this.delete(name);
    for (const node of nodes) this.set(node);
    return gone;
  }

  #uncount(name: string): void {
    const state = this.#states.get(name);
    if (state !== undefined) this.#counts[state] -= 1;
  }

  #grouped(): Pool[] {
    const pools = new Map<string, string[]>();
    for (const { name, pool = NO_POOL } of this.#nodes.values()) {
      const names = pools.get(pool) ?? [];
      names.push(name);
      pools.set(pool, names);
    }
    return [...pools]
      .map(([name, nodes]) => ({ name, nodes: nodes.sort(byName) }))
      .sort((a, b) => Number(a.name === NO_POOL) - Number(b.name === NO_POOL) || byName(a.name, b.name));
  }
}
