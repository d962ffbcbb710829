import type { NodeReadiness } from './readiness/tracker.ts';

type State = 'ready' | 'not-ready' | 'unknown';

/** The number of nodes on which a service has each state. */
export type ServiceCount = Record<State, number>;

/** Counts, for each service, the nodes that it is for, as they are evaluated. */
export class ServiceTally {
  readonly #nodes = new Map<string, ReadonlyMap<string, State>>();
  readonly #counts = new Map<string, ServiceCount>();

  count(service: string): Readonly<ServiceCount> {
    return this.#counts.get(service) ?? { ready: 0, 'not-ready': 0, unknown: 0 };
  }

  /** The counts of all services that are for some node. */
  get counts(): ReadonlyMap<string, Readonly<ServiceCount>> {
    return this.#counts;
  }

  seen(node: string, readiness: NodeReadiness): void {
    const before = this.#nodes.get(node);
    const isSame =
      before?.size === readiness.size && readiness.entries().every(([name, { state }]) => before.get(name) === state);
    if (isSame) return;
    this.forget(node);
    const states = new Map([...readiness].map(([name, { state }]) => [name, state]));
    this.#nodes.set(node, states);
    for (const [name, state] of states) this.#add(name, state, 1);
  }

  forget(node: string): void {
    for (const [name, state] of this.#nodes.get(node) ?? []) this.#add(name, state, -1);
    this.#nodes.delete(node);
  }

  #add(service: string, state: State, by: number): void {
    const count = this.#counts.get(service) ?? { ready: 0, 'not-ready': 0, unknown: 0 };
    count[state] += by;
    this.#counts.set(service, count);
    if (count.ready + count['not-ready'] + count.unknown === 0) this.#counts.delete(service);
  }
}
