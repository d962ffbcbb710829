import {
  FIELD_MANAGER,
  KEYS_ANNOTATION,
  readyLabel,
  WITHDRAWN_LABELS_ANNOTATION,
} from '@rollcall/common/well-known.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import { LOOKED_MS } from './assignments.ts';
import { LAG_MS } from './news.ts';
import { PUBLISHED_IDS } from './node-services.ts';
import { type NodeTruth, SERVICE_NAMES } from './truth.ts';
import type { Verdict } from './verdicts.ts';
import type { Workload } from './workloads.ts';
import type { World } from './world.ts';

const DELAY_MS = 30_000;
/** What was decided so long ago may still be under way. */
const REASON_MS = 3000;

/** What another removed so long before rollcall noted it may have been removed by both. */
const BOTH_MS = LAG_MS + 500;
/** So long after the delay a pod is gone: a node is not listed again and again for the same labels. */
const GONE_WITHIN_MS = 75_000;

/**
 * How a node lost a value of a label, and whether the API server answered. `mayBeOurs`: rollcall was about to remove it
 * as well. `isOfService`: it was listed as the label of one, or not at all.
 */
type Loss = { atMs: number; isOurs: boolean; mayBeOurs: boolean; isOfService: boolean; isAnswered: boolean };

/**
 * §5, §10: pods are evicted for a label that rollcall withdrew and that stayed away, and for no other; for the label of a
 * service only where that is asked for, and only while a service in force requests the label on the node and is seen to
 * fail there: not by silence, not by damping, and not because of what was configured.
 */
export class Evictions {
  readonly #world: World;
  /** By Node, label and value. */
  readonly #losses = new Map<string, Loss>();
  /** When a service in force that selects the node was last seen to fail, by Node and label. */
  readonly #failedMs = new Map<string, number>();
  /** The same where that is certain. */
  readonly #failingMs = new Map<string, number>();
  /** Since when pods have to go, by uid; and those that a PodDisruptionBudget kept, which are tried less often. */
  readonly #misplacedMs = new Map<string, number>();
  readonly #kept = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  /** `verdict`: without damping. */
  look({ uid }: NodeTruth, label: string | undefined, verdict: Verdict): void {
    if (label === undefined) return;
    const id = `${uid} ${label}`;
    if (verdict === 'not-ready' || verdict === 'open') this.#failedMs.set(id, this.#world.nowMs);
    if (verdict === 'not-ready') this.#failingMs.set(id, this.#world.nowMs);
    else this.#failingMs.delete(id);
  }

  /** A pod that should have been evicted by now. To be asked once a second. */
  overdue(): string | undefined {
    const { nowMs, termBeganMs, workloads } = this.#world;
    for (const pod of workloads.pods.values()) {
      if (pod.isBlocked) this.#kept.add(pod.uid);
      const isMisplaced = this.#mustGo(pod) && !this.#kept.has(pod.uid) && !this.#mayWait(pod);
      if (!isMisplaced) this.#misplacedMs.delete(pod.uid);
      else if (!this.#misplacedMs.has(pod.uid)) this.#misplacedMs.set(pod.uid, nowMs);
      // A later term counts anew.
      const sinceMs = Math.max(this.#misplacedMs.get(pod.uid) ?? nowMs, termBeganMs);
      const forMs = nowMs - sinceMs;
      if (forMs > DELAY_MS + GONE_WITHIN_MS)
        return `${pod.name} was not evicted for ${forMs} ms for want of ${pod.key}`;
    }
    return undefined;
  }

  /** §10: the budget of a service bounds evictions as well, so that pods of one node at a time are sure to go. */
  #mayWait({ key }: Workload): boolean {
    return [...this.#failingMs.keys()].filter((id) => id.endsWith(` ${key}`)).length > 1;
  }

  #mustGo({ node, key, value }: Workload): boolean {
    const { nodes, evict, decided, nowMs } = this.#world;
    const current = nodes.get(node);
    const { metadata } = current ?? {};
    const id = `${metadata?.uid} ${key}`;
    const loss = this.#losses.get(`${id}=${value}`);
    const isWithdrawn = loss?.isOurs && metadata?.labels?.[key] === undefined;
    // Whoever leads by now knows of it only if the Node lists it.
    const isKnown = current && listedOn(current).includes(`${key}=${value}`);
    const isFailing = nowMs - (this.#failingMs.get(id) ?? Number.NEGATIVE_INFINITY) <= LOOKED_MS;
    const isFor = !isOfService(key) || !loss?.isOfService || (evict?.readiness && isFailing);
    return Boolean(isWithdrawn && loss.isAnswered && isKnown && isFor && decided && this.#isAnswered);
  }

  get #isAnswered(): boolean {
    const { troubledUntilMs, sporadic, denied } = this.#world.faults;
    return this.#world.nowMs >= troubledUntilMs && sporadic === 0 && denied.size === 0;
  }

  written({ node, before, manager }: NodeWrite): void {
    const { uid } = node.metadata;
    const [had, has] = [before?.metadata.labels ?? {}, node.metadata.labels ?? {}];
    const isOurs = manager === FIELD_MANAGER;
    const { nowMs } = this.#world;
    const listed = new Set(before && listedOn(before));
    for (const each of isOurs ? listedOn(node).filter((label) => !listed.has(label)) : []) {
      const loss = this.#losses.get(`${uid} ${each}`);
      if (loss && nowMs - loss.atMs <= BOTH_MS) loss.mayBeOurs = true;
    }
    for (const [key, value] of Object.entries(had)) {
      if (has[key] === value) continue;
      const id = `${uid} ${key}`;
      const origin = originOf(before, key) ?? '';
      const isOfService = /^(gitpod|service:.*|)$/.test(origin);
      const loss = { atMs: nowMs, isOurs, mayBeOurs: isOurs, isOfService, isAnswered: this.#isAnswered };
      this.#losses.set(`${id}=${value}`, loss);
    }
  }

  /** What is wrong with an eviction. */
  evicted({ name, node, key, value }: Workload): string | undefined {
    const { nowMs, nodes } = this.#world;
    const { metadata } = nodes.get(node) ?? {};
    const id = `${metadata?.uid} ${key}`;
    const loss = this.#losses.get(`${id}=${value}`);
    const awayMs = nowMs - (loss?.atMs ?? nowMs);
    const what = `${name} was evicted from ${node} for want of ${key}=${value}`;
    if (metadata?.labels?.[key] === value && awayMs > DELAY_MS + LAG_MS) return `${what}, which is there`;
    if (!loss?.mayBeOurs) return `${what}, which rollcall did not withdraw`;
    if (awayMs < DELAY_MS) return `${what}, which was away for ${awayMs} ms`;
    if (!isOfService(key) || !loss.isOfService) return undefined;
    if (!this.#world.evict?.readiness) return `${what}, which is of a service`;
    const failedMs = this.#failedMs.get(id) ?? Number.NEGATIVE_INFINITY;
    return nowMs - failedMs <= REASON_MS ? undefined : `${what}, which no service that fails there requests`;
  }
}

/** What the list on a Node says a label is for. */
function originOf(node: Node | undefined, key: string): string | undefined {
  const list = JSON.parse(node?.metadata.annotations?.[KEYS_ANNOTATION] ?? '{}') as Record<string, string>;
  return list[`label:${key}`];
}

/** Labels that rollcall lists as withdrawn, each as `KEY=VALUE`. */
function listedOn({ metadata }: Node): string[] {
  const withdrawn = JSON.parse(metadata.annotations?.[WITHDRAWN_LABELS_ANNOTATION] ?? '{}') as Record<string, string>;
  return Object.entries(withdrawn).map(([key, value]) => `${key}=${value}`);
}

function isOfService(label: string): boolean {
  return (
    SERVICE_NAMES.some((name) => readyLabel(name, 'default') === label) || PUBLISHED_IDS.includes(`label:${label}`)
  );
}
