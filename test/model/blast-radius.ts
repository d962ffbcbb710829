import { FIELD_MANAGER, MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { inForce } from './acceptance.ts';
import type { NodeWrite } from './api-server/nodes.ts';
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

/** §12: such a label leaves 10 nodes at once, unless one single object was changed. */
export class Departures {
  readonly #world: World;
  /** By label, the nodes that lost it before the delay was over. */
  readonly #gone = new Map<string, { sinceMs: number; nodes: Set<string> }>();

  constructor(world: World) {
    this.#world = world;
  }

  /** What a write of rollcall broke of it. */
  written({ node, before, manager }: NodeWrite): string | undefined {
    const { name } = node.metadata;
    const truth = this.#world.truths.get(name);
    if (manager !== FIELD_MANAGER || !before || !truth) return undefined;
    for (const id of CONFIGURED_IDS) {
      const isGone = valueOn(before, id) !== undefined && valueOn(node, id) === undefined;
      if (!isGone || !isConfigured(this.#world, id)) continue;
      const { nowMs } = this.#world;
      if (nowMs - (truth.leavingMs.get(id) ?? nowMs) >= DELAY_MS - SLACK_MS) continue;
      const { nodes } = this.#goneOf(id);
      nodes.add(name);
      // Who leads since then does not know what changed before.
      if (nowMs - this.#world.termBeganMs <= DELAY_MS + SLACK_MS) continue;
      if (nodes.size > AT_ONCE && !this.#isSingleChange(id)) return `${id} left ${nodes.size} nodes at once`;
    }
    return undefined;
  }

  #goneOf(id: string): { sinceMs: number; nodes: Set<string> } {
    const { nowMs, termBeganMs, configured } = this.#world;
    const beganMs = Math.max(termBeganMs, ...configured.values());
    const known = this.#gone.get(id);
    if (known && known.sinceMs >= beganMs && nowMs - known.sinceMs < DELAY_MS) return known;
    const fresh = { sinceMs: nowMs, nodes: new Set<string>() };
    this.#gone.set(id, fresh);
    return fresh;
  }

  /** Rule files that are all gone are no object. */
  #isSingleChange(id: string): boolean {
    const { nowMs, configured } = this.#world;
    const recent = [...configured].filter(
      ([object, atMs]) => object !== 'rules' && nowMs - atMs <= DELAY_MS + SLACK_MS,
    );
    return id !== `label:${IMPLIED_LABEL}` && recent.length === 1;
  }
}
