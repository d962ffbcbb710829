import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import { inForce } from './acceptance.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import { LAG_MS } from './news.ts';
import { type NodeServiceObject, POOL_LABEL } from './node-services.ts';
import { isEditedLately } from './ours.ts';
import { isYounger, startedOn } from './startup.ts';
import type { NodeTruth } from './truth.ts';
import type { World } from './world.ts';

/** §10: a service applies only to nodes that `nodeSelector` selects. */
export function isSelected({ nodes }: World, { name }: NodeTruth, { spec: { pool } }: NodeServiceObject): boolean {
  return pool === undefined || nodes.get(name)?.metadata.labels?.[POOL_LABEL] === pool;
}

/** §10: of the nodes that were open for a service, its taint closes so many at a time: a fifth, and at least one. */
function limitOf({ spec: { publish } }: NodeServiceObject, open: number): number {
  const { maxUnavailable = '20%' } = publish.taint ?? {};
  if (typeof maxUnavailable === 'number') return maxUnavailable;
  return Math.max(1, Math.floor((open * Number.parseInt(maxUnavailable, 10)) / 100));
}

function hasTaint({ spec }: Node, { spec: { publish } }: NodeServiceObject): boolean {
  const { key, value, effect } = publish.taint ?? {};
  return (
    spec?.taints?.some((each) => each.key === key && (each.value ?? '') === value && each.effect === effect) === true
  );
}

/** §10: open were nodes that are older than the NodeService, or that note that it was ready there. */
export function wasOpen(node: Node, service: NodeServiceObject): boolean {
  return !isYounger(node, service) || startedOn(node).includes(service.uid);
}

/** Whether a node on which the service is not ready may lack its taint: another may have its place. */
export function mayWait({ nodes }: World, { name }: NodeTruth, service: NodeServiceObject): boolean {
  const node = nodes.get(name);
  const isBounded = service.spec.publish.taint?.maxUnavailable !== '100%';
  return isBounded && node !== undefined && wasOpen(node, service) && !hasTaint(node, service);
}

/** Compares what rollcall writes with the budgets, counted on the Nodes as the API server has them. */
export class TaintBudget {
  readonly #world: World;
  /** Nodes, by uid, and services whose taint has been there since before the node was open: it took no place. */
  readonly #closedFromBirth = new Set<string>();
  /** The limits of a service that may have counted lately, by uid and generation. */
  readonly #limits = new Map<string, { limit: number; atMs: number }[]>();

  constructor(world: World) {
    this.#world = world;
  }

  /** To be looked at whenever something may have changed. */
  look(): void {
    for (const service of inForce(this.#world)) {
      this.#limitOf(service);
      for (const node of this.#world.nodes.all()) this.#noteBirth(node, service);
    }
  }

  #noteBirth(node: Node, service: NodeServiceObject): void {
    const id = `${node.metadata.uid} ${service.uid}`;
    if (!hasTaint(node, service)) this.#closedFromBirth.delete(id);
    else if (!wasOpen(node, service)) this.#closedFromBirth.add(id);
  }

  /** What a write of rollcall broke of it. */
  written({ node, before, manager }: NodeWrite): string | undefined {
    if (manager !== FIELD_MANAGER || !before) return undefined;
    for (const service of inForce(this.#world)) {
      this.#noteBirth(node, service);
      if (!hasTaint(node, service) || hasTaint(before, service) || !wasOpen(before, service)) continue;
      const closed = this.#openTo(service).filter(
        (each) =>
          hasTaint(each, service) &&
          !this.#isNews(each, service) &&
          !this.#closedFromBirth.has(`${each.metadata.uid} ${service.uid}`),
      );
      if (closed.length > this.#limitOf(service))
        return `the taint of ${service.name} is on ${closed.length} nodes that were open`;
    }
    return undefined;
  }

  /** The largest that may have been counted: what is watched comes late. */
  #limitOf(service: NodeServiceObject): number {
    const { nowMs } = this.#world;
    const id = `${service.uid} ${service.generation}`;
    const known = (this.#limits.get(id) ?? []).filter(({ atMs }) => nowMs - atMs <= 2 * LAG_MS);
    const limit = limitOf(service, this.#openTo(service).length);
    if (known.at(-1)?.limit === limit) known.pop();
    this.#limits.set(id, [...known, { limit, atMs: nowMs }]);
    return Math.max(limit, ...known.map((each) => each.limit));
  }

  #openTo(service: NodeServiceObject): Node[] {
    const { nodes, truths } = this.#world;
    return nodes.all().filter((node) => {
      const truth = truths.get(node.metadata.name);
      return truth !== undefined && isSelected(this.#world, truth, service) && wasOpen(node, service);
    });
  }

  /** A person set the taint, or the pool, a moment ago, and rollcall may not know of it. */
  #isNews({ metadata: { name } }: Node, { spec: { publish } }: NodeServiceObject): boolean {
    const truth = this.#world.truths.get(name);
    return truth !== undefined && isEditedLately(this.#world, truth, `taint:${publish.taint?.key}`);
  }
}
