import type { Service } from '../model/services.ts';
import { hasTaint, type ObservedNode, type Taint } from '../state/observed-node.ts';
import { provenTaints, taintText } from '../state/started-services.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';

/** A taint that is new is on so many nodes at first: where its service can never be ready, no more are locked. */
const FIRST_NODES = 10;

type Beginning = {
  taint: string;
  /** The first nodes. */
  nodes: Set<string>;
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
    const { isProven, nodes } = this.#of(service);
    return isProven || nodes.has(name) || nodes.size < FIRST_NODES;
  }

  /**
   * The writer adds these taints to a node, which takes a place for each; where no place is left, the node waits. Returns
   * the services that begin to wait.
   */
  commit(services: readonly Service[], { name, taints, readiness }: EvaluatedNode, added: readonly Taint[]): Service[] {
    const waiting: Service[] = [];
    for (const service of services) {
      const { taint } = service.publish;
      if (!taint || service.origin.kind !== 'object') continue;
      if (!taints || readiness.get(service.name)?.state !== 'not-ready' || hasTaint(taints, taint)) continue;
      const beginning = this.#begin(service);
      if (beginning.isProven || beginning.nodes.has(name)) continue;
      if (beginning.nodes.size < FIRST_NODES) {
        if (added.some(({ key }) => key === taint.key)) beginning.nodes.add(name);
        continue;
      }
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
      // Whether the taint may go is asked from now on, on each such node.
      if (shown?.state === 'ready' && isThere) this.#begin(service);
      // The service does not select the node any more, and the taint is gone.
      if (!shown && !isThere) this.#leave(this.#begin(service), name);
      if (noted.get(origin.uid) !== taintText(publish.taint)) continue;
      const beginning = this.#begin(service);
      if (beginning.isProven) continue;
      beginning.isProven = true;
      beginning.refused.clear();
      proven.push(service);
    }
    return proven;
  }

  forget(node: string): void {
    this.#woken.delete(node);
    for (const beginning of this.#beginnings.values()) this.#leave(beginning, node);
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
    return { taint, nodes, refused: new Set(), isProven, isTold: false };
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
