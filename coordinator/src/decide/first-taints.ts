import type { Service } from '../model/services.ts';
import { hasTaint, type ObservedNode, type Taint } from '../state/observed-node.ts';
import { provenTaints, taintText } from '../state/started-services.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';

/** A taint that is new is on so many nodes at first: where its service can never be ready, no more are locked. */
const FIRST_NODES = 10;

type Beginning = {
  taint: string;
  /** The first nodes: those that have it. */
  nodes: Set<string>;
  /** Nodes to which a request adds it that is not answered yet. */
  inFlight: Set<string>;
  /** Nodes that were refused because there was no place left. */
  refused: Set<string>;
  isProven: boolean;
  isTold: boolean;
};

/**
 * Decides which nodes may get a new taint, until a Node notes that its service was ready there while it had the taint. The
 * notes are on the Nodes, so that the next leader knows as well.
 */
export class FirstTaints {
  readonly #allNodes: () => Iterable<ObservedNode>;
  /** Keyed by the uid of a NodeService, or by the name of a built-in service. */
  readonly #beginnings = new Map<string, Beginning>();
  /** Nodes that may find a place now. */
  #woken = new Set<string>();
  #services: readonly Service[] = [];

  constructor(nodes: () => Iterable<ObservedNode>) {
    this.#allNodes = nodes;
  }

  /** Whether a node that does not have the taint may get it. Changes nothing. */
  mayTaint(service: Service, { name, taints }: Pick<EvaluatedNode, 'name' | 'taints'>): boolean {
    if (service.origin.kind === 'built-in') return true;
    if (!taints) return false;
    return hasPlace(this.#of(service), name);
  }

  /**
   * A request that adds these taints to a node is in flight. It holds a place for each until the returned function is
   * called; by then the node shows the taint, or the place is free.
   */
  reserve(services: readonly Service[], node: string, added: readonly Taint[]): () => void {
    const reserved = services.flatMap((service) => {
      const { publish, origin } = service;
      const isAdded = added.some(({ key }) => key === publish.taint?.key);
      return isAdded && origin.kind === 'object' ? this.#begin(service) : [];
    });
    for (const { inFlight } of reserved) inFlight.add(node);
    return () => {
      for (const beginning of reserved) {
        beginning.inFlight.delete(node);
        if (!beginning.nodes.has(node)) this.#wake(beginning);
      }
    };
  }

  /** Nothing has to be written to a node: where no place is left, it waits. Returns the services that begin to wait. */
  rested(services: readonly Service[], { name, taints, readiness }: EvaluatedNode): Service[] {
    const waiting: Service[] = [];
    for (const service of services) {
      const { taint } = service.publish;
      if (!taint || service.origin.kind !== 'object') continue;
      if (!taints || readiness.get(service.name)?.state !== 'not-ready' || hasTaint(taints, taint)) continue;
      const beginning = this.#begin(service);
      if (hasPlace(beginning, name)) continue;
      beginning.refused.add(name);
      if (!beginning.isTold) waiting.push(service);
      beginning.isTold = true;
    }
    return waiting;
  }

  /** Whether the taint may go from nodes where the service is ready: not before the first of them notes it. Changes nothing. */
  mayClear(service: Service): boolean {
    const { taint } = service.publish;
    return !taint || service.origin.kind === 'built-in' || this.#of(service).isProven;
  }

  /** Returns the nodes to look at again, since they may find a place. */
  takeWaiting(): ReadonlySet<string> {
    const woken = this.#woken;
    this.#woken = new Set();
    return woken;
  }

  /** Records what a node shows. Returns the services whose taint it proves. */
  observe(services: readonly Service[], node: EvaluatedNode): Service[] {
    const proven: Service[] = [];
    const { name, taints, readiness } = node;
    if (services !== this.#services) this.#forgetOthers(services);
    const noted = provenTaints(node);
    for (const service of services) {
      const { publish, origin } = service;
      if (!publish.taint || origin.kind !== 'object') continue;
      const shown = readiness.get(service.name);
      const isThere = hasTaint(taints, publish.taint);
      const beginning = this.#begin(service);
      if (isThere) beginning.nodes.add(name);
      else if (taints) this.#leave(beginning, name);
      // The service does not select the node any more.
      if (!shown) beginning.refused.delete(name);
      if (noted.get(origin.uid) !== taintText(publish.taint)) continue;
      if (beginning.isProven) continue;
      beginning.isProven = true;
      beginning.refused.clear();
      proven.push(service);
    }
    return proven;
  }

  forget(node: string): void {
    this.#woken.delete(node);
    for (const beginning of this.#beginnings.values()) {
      beginning.refused.delete(node);
      this.#leave(beginning, node);
    }
  }

  /** Gives the place of a node, if it has one, to those that wait. */
  #leave(beginning: Beginning, node: string): void {
    if (beginning.nodes.delete(node)) this.#wake(beginning);
  }

  /** Lets as many nodes that wait try again as could find a place, each in its turn. */
  #wake({ refused }: Beginning): void {
    for (const each of refused.values().take(FIRST_NODES)) {
      this.#woken.add(each);
      refused.delete(each);
    }
  }

  #forgetOthers(services: readonly Service[]): void {
    this.#services = services;
    const ids = new Set(services.map(idOf));
    for (const id of this.#beginnings.keys()) if (!ids.has(id)) this.#beginnings.delete(id);
  }

  /** The entry for the taint of a service, new if there is none. */
  #of(service: Service): Beginning {
    const { origin, publish } = service;
    const taint = publish.taint ? taintText(publish.taint) : '';
    const known = this.#beginnings.get(idOf(service));
    if (known?.taint === taint) return known;
    const nodes = new Set<string>();
    let isProven = false;
    for (const node of this.#allNodes()) {
      if (publish.taint && hasTaint(node.taints, publish.taint)) nodes.add(node.name);
      isProven ||= origin.kind === 'object' && provenTaints(node).get(origin.uid) === taint;
    }
    return { taint, nodes, inFlight: new Set(), refused: new Set(), isProven, isTold: false };
  }

  #begin(service: Service): Beginning {
    const beginning = this.#of(service);
    this.#beginnings.set(idOf(service), beginning);
    return beginning;
  }
}

function idOf({ name, origin }: Service): string {
  return origin.kind === 'object' ? origin.uid : name;
}

/** Whether a node has the taint or may get it. Of requests in flight none is known to be refused. */
function hasPlace({ isProven, nodes, inFlight }: Beginning, node: string): boolean {
  return isProven || nodes.has(node) || inFlight.has(node) || nodes.union(inFlight).size < FIRST_NODES;
}
