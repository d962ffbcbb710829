import { FIELD_MANAGER, MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { inForce } from './acceptance.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import { LAG_MS } from './news.ts';
import { PUBLISHED_IDS } from './node-services.ts';
import { IMPLIED_LABEL, POOL_KEYS } from './rules.ts';
import { valueOn } from './sights.ts';
import type { NodeTruth } from './truth.ts';
import { ANY, type Want } from './want.ts';
import type { World } from './world.ts';

const AT_ONCE = 10;
const DELAY_MS = 60_000;
/** Ticks are a second apart, and what is watched comes late. */
const SLACK_MS = 4000;

const POOL_IDS = POOL_KEYS.map((key) => `label:${key}`);
const CONFIGURED_IDS = [
  ...POOL_IDS,
  `label:${IMPLIED_LABEL}`,
  ...PUBLISHED_IDS.filter((id) => id.startsWith('label:')),
];

/**
 * §12: a label that would leave more than 10 nodes because of what was configured may stay for the delay, and then goes.
 * Taints and conditions never wait.
 */
export function guardWants(wants: Map<string, Want>, world: World, truth: NodeTruth): void {
  const node = world.nodes.get(truth.name);
  for (const id of CONFIGURED_IDS) {
    const isLeaving = wants.has(id) && wants.get(id) === undefined && isConfigured(world, id);
    if (!isLeaving || !node || valueOn(node, id) === undefined) {
      truth.leavingMs.delete(id);
      continue;
    }
    const sinceMs = truth.leavingMs.get(id) ?? world.nowMs;
    truth.leavingMs.set(id, sinceMs);
    if (!isLarge(world) || world.nowMs >= Math.max(sinceMs, world.termBeganMs) + DELAY_MS + SLACK_MS) continue;
    wants.set(id, ANY);
    if (POOL_IDS.includes(id)) wants.set(`annotation:${MANAGED_LABELS_ANNOTATION}`, ANY);
  }
}

/** When no label is delayed any more. */
export function delaysEndMs(world: World): number {
  if (!isLarge(world)) return 0;
  const { configured, termBeganMs } = world;
  return configured.size === 0 ? 0 : Math.max(termBeganMs, ...configured.values()) + DELAY_MS + SLACK_MS;
}

/** Fewer nodes lose nothing by a delay. */
export function isLarge({ truths }: World): boolean {
  return truths.size > AT_ONCE;
}

/** Whether the label leaves for what was configured: not since a service failed, or a device went. */
function isConfigured({ services, rulesOn }: World, id: string): boolean {
  if (id === `label:${IMPLIED_LABEL}`) return !rulesOn;
  return !inForce(services.values()).some(({ spec }) => `label:${spec.publish.label}` === id);
}

/** Nodes that lost a label, and when; and when nodes last lost it because the delay was over. */
type Gone = { termMs: number; nodes: Map<string, number>; delayEndedMs: number };

/** §12: such a label leaves 10 nodes within a minute, unless one single object was changed. */
export class Departures {
  readonly #world: World;
  readonly #gone = new Map<string, Gone>();

  constructor(world: World) {
    this.#world = world;
  }

  /** What a write broke of it. */
  written({ node, before, manager }: NodeWrite): string | undefined {
    const truth = this.#world.truths.get(node.metadata.name);
    if (!before || !truth) return undefined;
    for (const id of CONFIGURED_IDS) {
      const [had, has] = [valueOn(before, id) !== undefined, valueOn(node, id) !== undefined];
      if (has) this.#gone.get(id)?.nodes.delete(truth.uid);
      if (manager === FIELD_MANAGER && had && !has && isConfigured(this.#world, id)) {
        const problem = this.#left(id, truth);
        if (problem) return problem;
      }
    }
    return undefined;
  }

  #left(id: string, { uid, leavingMs }: NodeTruth): string | undefined {
    const { nowMs } = this.#world;
    const gone = this.#goneOf(id);
    if (nowMs - (leavingMs.get(id) ?? nowMs) >= DELAY_MS - SLACK_MS) {
      gone.delayEndedMs = nowMs;
      return undefined;
    }
    gone.nodes.set(uid, nowMs);
    // Those that come late lose it at once, as they would have with the others.
    const isLate = nowMs - gone.delayEndedMs <= DELAY_MS + SLACK_MS;
    const lately = [...gone.nodes.values()].filter((atMs) => nowMs - atMs < DELAY_MS - SLACK_MS).length;
    if (lately <= AT_ONCE || isLate || this.#mayBeSingleChange(id)) return undefined;
    return `${id} left ${lately} nodes at once`;
  }

  /** Who leads now does not know what left before. */
  #goneOf(id: string): Gone {
    const { termBeganMs: termMs } = this.#world;
    const known = this.#gone.get(id);
    if (known?.termMs === termMs) return known;
    const fresh = { termMs, nodes: new Map<string, number>(), delayEndedMs: Number.NEGATIVE_INFINITY };
    this.#gone.set(id, fresh);
    return fresh;
  }

  /** Rule files that are all gone are no object. Who leads does not know what changed before the term. */
  #mayBeSingleChange(id: string): boolean {
    const { nowMs, termBeganMs, configured } = this.#world;
    const lately = [...configured].filter(
      ([object, atMs]) => object !== 'rules' && nowMs - atMs <= DELAY_MS + SLACK_MS,
    );
    const inTerm = lately.filter(([, atMs]) => atMs >= termBeganMs + LAG_MS);
    return id !== `label:${IMPLIED_LABEL}` && (lately.length === 1 || inTerm.length < lately.length);
  }
}
