import type { NodeReadiness, ServiceReadiness } from './readiness/tracker.ts';

type State = 'ready' | 'not-ready' | 'unknown';

/** The number of nodes on which a service has each state. */
export type ServiceCount = Record<State, number>;

/** Why a service is not ready, or unknown, on so many nodes, in the words that are said of the example. */
export type CommonReason = { state: State; reason: string; nodes: number; example: string };

/** Nodes on which a service has one state for the same reason, but for the names and figures in it; each with its words. */
type Group = { id: string; state: State; nodes: Map<string, string> };

/** Of these nodes there is nothing to say. */
const READY: Group = { id: 'ready', state: 'ready', nodes: new Map() };

/** Counts, for each service, the nodes that it is for, as they are evaluated. */
export class ServiceTally {
  readonly #nodes = new Map<string, ReadonlyMap<string, Group>>();
  readonly #counts = new Map<string, ServiceCount>();
  /** By service and id, without `READY`. Each has a node. */
  readonly #groups = new Map<string, Map<string, Group>>();

  count(service: string): Readonly<ServiceCount> {
    return this.#counts.get(service) ?? { ready: 0, 'not-ready': 0, unknown: 0 };
  }

  /** The counts of all services that are for some node. */
  get counts(): ReadonlyMap<string, Readonly<ServiceCount>> {
    return this.#counts;
  }

  /**
   * The reason of most nodes where the service is not ready; if there are none, of most where it is unknown. The example
   * stays the same as long as the reason is that node's.
   */
  commonest(service: string): CommonReason | undefined {
    const rank = ({ state, nodes }: Group) => (state === 'not-ready' ? nodes.size : nodes.size - this.#nodes.size);
    let largest: Group | undefined;
    for (const group of this.#groups.get(service)?.values() ?? [])
      if (!largest || rank(group) > rank(largest)) largest = group;
    const [first] = largest?.nodes ?? [];
    if (!largest || !first) return undefined;
    return { state: largest.state, reason: first[1], nodes: largest.nodes.size, example: first[0] };
  }

  seen(node: string, readiness: NodeReadiness): void {
    const before = this.#nodes.get(node);
    const groups = new Map(readiness.entries().map(([service, shown]) => [service, this.#groupOf(service, shown)]));
    for (const [service, group] of groups) {
      if (group === READY) continue;
      // A node that stays in a group keeps its place: it may be the example.
      group.nodes.set(node, readiness.get(service)?.reason ?? '');
    }
    const isSame =
      before?.size === groups.size && groups.entries().every(([service, group]) => before.get(service) === group);
    if (isSame) return;
    for (const [service, { state }] of groups) this.#add(service, state, 1);
    this.#leave(node, groups);
    this.#nodes.set(node, groups);
  }

  forget(node: string): void {
    this.#leave(node, new Map());
    this.#nodes.delete(node);
  }

  #groupOf(service: string, shown: ServiceReadiness): Group {
    if (shown.state === 'ready') return READY;
    const id = `${shown.state} ${shown.reason.replaceAll(/[^\s,;()]+/g, withoutName)}`;
    const groups = this.#groups.get(service) ?? new Map<string, Group>();
    this.#groups.set(service, groups);
    const group = groups.get(id) ?? { id, state: shown.state, nodes: new Map() };
    groups.set(id, group);
    return group;
  }

  /** The node is no longer in the groups that it was in, but for these. */
  #leave(node: string, kept: ReadonlyMap<string, Group>): void {
    for (const [service, group] of this.#nodes.get(node) ?? []) {
      this.#add(service, group.state, -1);
      if (group === kept.get(service)) continue;
      group.nodes.delete(node);
      const groups = this.#groups.get(service);
      if (group.nodes.size === 0) groups?.delete(group.id);
      if (groups?.size === 0) this.#groups.delete(service);
    }
  }

  #add(service: string, state: State, by: number): void {
    const count = this.#counts.get(service) ?? { ready: 0, 'not-ready': 0, unknown: 0 };
    count[state] += by;
    this.#counts.set(service, count);
    if (count.ready + count['not-ready'] + count.unknown === 0) this.#counts.delete(service);
  }
}

/** Pods with their namespace, addresses, paths and figures differ from node to node. */
function withoutName(word: string): string {
  return /[\d/]/.test(word) ? '#' : word;
}
