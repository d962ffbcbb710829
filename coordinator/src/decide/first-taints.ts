import { hasTaint, type ObservedNode } from '../fleet/observed-node.ts';
import type { Service } from '../setup/services.ts';
import type { JudgedNode } from './labelers/labeler.ts';

/** A taint that is new is on so many nodes at first: where its service can never be ready, no more are locked. */
const FIRST_NODES = 10;

/** A taint that was not seen to go before waits so long for the status to say so; a status may be refused. */
const NOTED_WITHIN_MS = 5000;

export type FirstTaintsOptions = {
  nodes: () => Iterable<ObservedNode>;
  /** Whether this taint of the service was seen to go before, as its status says. */
  wasProven: (service: Service, taint: string) => boolean;
  /** It may go to every node from now on. */
  onProven: (service: Service) => void;
  /** It is on the first nodes, and waits. */
  onWaiting: (service: Service) => void;
};

type Beginning = {
  taint: string;
  /** The first nodes. */
  nodes: Set<string>;
  /** Nodes for which no place was left. */
  refused: Set<string>;
  isProven: boolean;
  isTold: boolean;
  /** Until when a taint waits for the status, by the wall clock. */
  notedBeforeMs?: number;
};

/** Which nodes may get a taint that was not yet seen to go from a node because its service was ready there. */
export class FirstTaints {
  readonly #options: FirstTaintsOptions;
  /** By what asks for the taint: the uid of a NodeService, or the name of a service that is built in. */
  readonly #beginnings = new Map<string, Beginning>();
  /** Nodes whose taint stays until the status says that it was seen to go. */
  #waiting = new Set<string>();
  /** Nodes that may find a place now. */
  #woken = new Set<string>();
  #services: readonly Service[] = [];

  constructor(options: FirstTaintsOptions) {
    this.#options = options;
  }

  /** To be asked about a node that does not have the taint. */
  mayTaint(service: Service, node: JudgedNode): boolean {
    if (!node.taints) return false;
    const beginning = this.#of(service);
    if (beginning.isProven || beginning.nodes.has(node.name)) return true;
    if (beginning.nodes.size < FIRST_NODES) {
      beginning.nodes.add(node.name);
      return true;
    }
    beginning.refused.add(node.name);
    if (!beginning.isTold) this.#options.onWaiting(service);
    beginning.isTold = true;
    return false;
  }

  /**
   * To be asked about a node that has the taint although the service is ready there. The first to go is noted in the status
   * beforehand: a coordinator that ends in between would leave nobody who knows of it.
   */
  mayClear(service: Service, { name, createdAtMs, ageMs }: JudgedNode): boolean {
    const taint = textOf(service);
    if (taint === undefined || service.origin.kind !== 'object') return true;
    const beginning = this.#of(service);
    // Those of a node that have waited go together, in one request.
    const hasWaited = beginning.notedBeforeMs !== undefined && this.#waiting.has(name);
    if (this.#options.wasProven(service, taint)) return !hasWaited;
    const nowMs = createdAtMs + ageMs;
    beginning.notedBeforeMs ??= nowMs + NOTED_WITHIN_MS;
    if (nowMs >= beginning.notedBeforeMs) return true;
    this.#waiting.add(name);
    return false;
  }

  /** Returns the nodes to look at again: those that `mayClear` refused since the last call, and those that may find a place. */
  takeWaiting(): ReadonlySet<string> {
    const waiting = this.#waiting.union(this.#woken);
    this.#waiting = new Set();
    this.#woken = new Set();
    return waiting;
  }

  /** What is seen of a node: a service that is ready where its taint is proves it. */
  seen(services: readonly Service[], { name, taints, readiness }: JudgedNode): void {
    if (services !== this.#services) this.#forgetOthers(services);
    for (const service of services) {
      const { taint } = service.publish;
      if (!taint || service.origin.kind !== 'object') continue;
      const isThere = hasTaint(taints, taint);
      const shown = readiness.get(service.name);
      if (!isThere && shown) continue;
      const beginning = this.#of(service);
      // It is not for this node any more.
      if (!shown) this.#leave(beginning, name);
      if (beginning.isProven || shown?.state !== 'ready') continue;
      beginning.isProven = true;
      beginning.refused.clear();
      this.#options.onProven(service);
    }
  }

  forget(node: string): void {
    this.#waiting.delete(node);
    this.#woken.delete(node);
    for (const beginning of this.#beginnings.values()) this.#leave(beginning, node);
  }

  /** The taint of the service, where it was seen to go. */
  provenTaint(service: Service): string | undefined {
    const taint = textOf(service);
    return taint !== undefined && this.#of(service).isProven ? taint : undefined;
  }

  /** Gives the place of a node, if it has one, to those that wait. */
  #leave({ nodes, refused }: Beginning, node: string): void {
    refused.delete(node);
    if (!nodes.delete(node)) return;
    for (const each of refused) this.#woken.add(each);
    refused.clear();
  }

  #forgetOthers(services: readonly Service[]): void {
    this.#services = services;
    const ids = new Set(services.map(idOf));
    for (const id of this.#beginnings.keys()) if (!ids.has(id)) this.#beginnings.delete(id);
  }

  #of(service: Service): Beginning {
    const taint = textOf(service) ?? '';
    const id = idOf(service);
    const known = this.#beginnings.get(id);
    if (known?.taint === taint) return known;
    const isProven = service.origin.kind !== 'object' || this.#options.wasProven(service, taint);
    const wanted = service.publish.taint;
    const nodes = new Set<string>();
    if (!isProven && wanted) {
      for (const node of this.#options.nodes()) if (hasTaint(node.taints, wanted)) nodes.add(node.name);
    }
    const beginning: Beginning = { taint, nodes, refused: new Set(), isProven, isTold: false };
    this.#beginnings.set(id, beginning);
    return beginning;
  }
}

function idOf({ name, origin }: Service): string {
  return origin.kind === 'object' ? origin.uid : name;
}

function textOf({ publish: { taint } }: Service): string | undefined {
  return taint && `${taint.key}=${taint.value}:${taint.effect}`;
}
