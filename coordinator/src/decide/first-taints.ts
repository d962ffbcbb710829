import type { Service } from '../model/services.ts';
import { hasTaint, type ObservedNode, type Taint } from '../state/observed-node.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';

/** A taint that is new is on so many nodes at first: where its service can never be ready, no more are locked. */
const FIRST_NODES = 10;

/** A taint that was not seen to go before waits so long for the status to say so; a status may be refused. */
const NOTED_WITHIN_MS = 5000;

export type FirstTaintsOptions = {
  nodes: () => Iterable<ObservedNode>;
  /** Whether this taint of the service was seen to go before, as its status says. */
  wasProven: (service: Service, taint: string) => boolean;
};

type Beginning = {
  taint: string;
  /** The first nodes. */
  nodes: Set<string>;
  /** Nodes that were refused because there was no place left. */
  refused: Set<string>;
  isProven: boolean;
  isTold: boolean;
  /** Until when a taint waits for the status, by the wall clock. */
  notedBeforeMs?: number;
};

/** Decides which nodes may get a new taint, until it was seen to go from a node because its service was ready there. */
export class FirstTaints {
  readonly #options: FirstTaintsOptions;
  /** Keyed by the uid of a NodeService, or by the name of a built-in service. */
  readonly #beginnings = new Map<string, Beginning>();
  /** Nodes whose taint stays until the status says that it was seen to go. */
  #waiting = new Set<string>();
  /** Nodes that may find a place now. */
  #woken = new Set<string>();
  #services: readonly Service[] = [];

  constructor(options: FirstTaintsOptions) {
    this.#options = options;
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

  /**
   * Whether the taint may go from a node where the service is ready. The first to go is recorded in the status beforehand:
   * if a coordinator ended in between, no other would know of it. Changes nothing.
   */
  mayClear(service: Service, { name, createdAtMs, ageMs }: EvaluatedNode): boolean {
    const taint = textOf(service);
    if (taint === undefined || service.origin.kind !== 'object') return true;
    const { notedBeforeMs = Number.POSITIVE_INFINITY } = this.#of(service);
    // Taints of several nodes that have waited go together, in one request.
    const hasWaited = notedBeforeMs !== Number.POSITIVE_INFINITY && this.#waiting.has(name);
    if (this.#options.wasProven(service, taint)) return !hasWaited;
    return createdAtMs + ageMs >= notedBeforeMs;
  }

  /** Returns the nodes to look at again: those that wait for the status, and those that may find a place. */
  takeWaiting(): ReadonlySet<string> {
    const waiting = this.#waiting.union(this.#woken);
    this.#waiting = new Set();
    this.#woken = new Set();
    return waiting;
  }

  /** Records what a node shows. Returns the services whose taint it proves: they are ready where it is. */
  observe(services: readonly Service[], node: EvaluatedNode): Service[] {
    const proven: Service[] = [];
    const { name, taints, readiness } = node;
    if (services !== this.#services) this.#forgetOthers(services);
    for (const service of services) {
      const { taint } = service.publish;
      if (!taint || service.origin.kind !== 'object') continue;
      const shown = readiness.get(service.name);
      const isThere = hasTaint(taints, taint);
      if (shown ? !isThere : isThere) continue;
      const beginning = this.#begin(service);
      // The service does not select the node any more, and the taint is gone.
      if (!shown) this.#leave(beginning, name);
      if (shown?.state !== 'ready') continue;
      if (!beginning.isProven) {
        beginning.isProven = true;
        beginning.refused.clear();
        proven.push(service);
      }
      this.#awaitStatus(beginning, service, node);
    }
    return proven;
  }

  #awaitStatus(beginning: Beginning, service: Service, { name, createdAtMs, ageMs }: EvaluatedNode): void {
    if (this.#options.wasProven(service, beginning.taint)) return;
    const nowMs = createdAtMs + ageMs;
    beginning.notedBeforeMs ??= nowMs + NOTED_WITHIN_MS;
    if (nowMs < beginning.notedBeforeMs) this.#waiting.add(name);
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

  /** The entry for the taint of a service, new if there is none. */
  #of(service: Service): Beginning {
    const taint = textOf(service) ?? '';
    const known = this.#beginnings.get(idOf(service));
    if (known?.taint === taint) return known;
    const isProven = service.origin.kind !== 'object' || this.#options.wasProven(service, taint);
    const wanted = service.publish.taint;
    const nodes = new Set<string>();
    if (!isProven && wanted) {
      for (const node of this.#options.nodes()) if (hasTaint(node.taints, wanted)) nodes.add(node.name);
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

function textOf({ publish: { taint } }: Service): string | undefined {
  return taint && `${taint.key}=${taint.value}:${taint.effect}`;
}
