import { FIELD_MANAGER, MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { inForce } from './acceptance.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import { LAG_MS } from './news.ts';
import { PUBLISHED_IDS } from './node-services.ts';
import { IMPLIED_LABEL, POOL_KEYS } from './rules.ts';
import { valueOn } from './sights.ts';
import type { NodeTruth } from './truth.ts';
import { ANY, HOLD, type Want } from './want.ts';
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
  const { up, ports, device, reachable } = truth;
  const evidence = JSON.stringify({ up, ports, device, reachable });
  if (evidence !== truth.evidence) Object.assign(truth, { evidence, turnedMs: world.nowMs });
  for (const id of CONFIGURED_IDS) {
    // Should it leave once more, that is another departure.
    if (typeof wants.get(id) === 'string') truth.lostMs.delete(id);
    // What is not known now goes on where it was.
    if (wants.get(id) === HOLD) continue;
    const isLeaving = wants.has(id) && wants.get(id) === undefined && isConfigured(world, id);
    const known = truth.leavingMs.get(id);
    if (!isLeaving || !node || valueOn(node, id) === undefined) {
      if (known !== undefined) truth.stayedMs.set(id, { sinceMs: known, atMs: world.nowMs });
      truth.leavingMs.delete(id);
      continue;
    }
    const sinceMs = known ?? world.nowMs;
    truth.leavingMs.set(id, sinceMs);
    // The delay begins with the first nodes that lose it, and those whose writes fail or hang do not.
    const { troubledUntilMs } = world.faults;
    const beganMs = Math.max(sinceMs, world.termBeganMs, troubledUntilMs, world.faults.hungUntilMs(truth.name));
    if (!isLarge(world) || world.nowMs >= beganMs + DELAY_MS + SLACK_MS) continue;
    wants.set(id, ANY);
    if (POOL_IDS.includes(id)) wants.set(`annotation:${MANAGED_LABELS_ANNOTATION}`, ANY);
  }
}

/** When no label is delayed any more. */
export function delaysEndMs(world: World): number {
  const { truths, termBeganMs, faults } = world;
  const sinceMs = [...truths.values()].flatMap(({ leavingMs }) => [...leavingMs.values()]);
  if (!isLarge(world) || sinceMs.length === 0) return 0;
  return Math.max(termBeganMs, faults.troubledUntilMs, faults.allHungUntilMs, ...sinceMs) + DELAY_MS + SLACK_MS;
}

/** Fewer nodes lose nothing by a delay. */
export function isLarge({ truths }: World): boolean {
  return truths.size > AT_ONCE;
}

/** Whether the label leaves for what was configured: not since a service failed, or a device went. */
function isConfigured(world: World, id: string): boolean {
  if (id === `label:${IMPLIED_LABEL}`) return !world.rulesOn;
  return !inForce(world).some(({ spec }) => `label:${spec.publish.label}` === id);
}

/** §12: such a label leaves 10 nodes within a minute, unless one single object was changed. */
export class Departures {
  readonly #world: World;
  /** By label, when nodes last lost it because the delay was over. */
  readonly #delayEndedMs = new Map<string, number>();
  /** By label, since when a node has waited, without a moment in which none did. */
  readonly #delayBeganMs = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** What a write of rollcall broke of it. */
  written({ node, before, manager }: NodeWrite): string | undefined {
    const truth = this.#world.truths.get(node.metadata.name);
    if (manager !== FIELD_MANAGER || !before || !truth) return undefined;
    for (const id of CONFIGURED_IDS) this.#noteDelay(id);
    // One that was put back, however late, leaves once more.
    for (const id of CONFIGURED_IDS) if (valueOn(node, id) !== undefined) truth.lostMs.delete(id);
    const gone = CONFIGURED_IDS.filter((id) => valueOn(before, id) !== undefined && valueOn(node, id) === undefined);
    return gone
      .filter((id) => isConfigured(this.#world, id))
      .map((id) => this.#left(id, truth))
      .find((problem) => problem !== undefined);
  }

  /** §12: the delay is counted from the first node that waits. */
  #noteDelay(id: string): void {
    const sinceMs = [...this.#world.truths.values()].flatMap(({ leavingMs, stayedMs }) => {
      const [leaving, stayed] = [leavingMs.get(id), stayedMs.get(id)];
      if (leaving === undefined) return [];
      // That it was to stay for a moment may not have been seen.
      return stayed && leaving - stayed.atMs <= LAG_MS ? stayed.sinceMs : leaving;
    });
    const beganMs = Math.min(this.#delayBeganMs.get(id) ?? Number.POSITIVE_INFINITY, ...sinceMs);
    if (sinceMs.length === 0) this.#delayBeganMs.delete(id);
    else this.#delayBeganMs.set(id, beganMs);
  }

  #left(id: string, { lostMs, turnedMs, said }: NodeTruth): string | undefined {
    const { nowMs, termBeganMs, truths } = this.#world;
    if (nowMs - (this.#delayBeganMs.get(id) ?? nowMs) >= DELAY_MS - SLACK_MS) {
      this.#delayEndedMs.set(id, nowMs);
      return undefined;
    }
    // What was seen on the node before the change was heard of may have taken it.
    if (nowMs - turnedMs <= SLACK_MS || [...(said?.checks.values() ?? [])].includes(false)) return undefined;
    // Those that a single change took are none of the first of many.
    if (this.#mayBeSingleChange(id)) return undefined;
    lostMs.set(id, nowMs);
    // Who leads now does not know what left before the term.
    const sinceMs = Math.max(termBeganMs, nowMs - DELAY_MS + SLACK_MS);
    const count = [...truths.values()].filter((truth) => (truth.lostMs.get(id) ?? 0) > sinceMs).length;
    // Those that come late lose it at once, as they would have with the others.
    const isLate = nowMs - (this.#delayEndedMs.get(id) ?? Number.NEGATIVE_INFINITY) <= DELAY_MS + SLACK_MS;
    if (count <= AT_ONCE || isLate) return undefined;
    return `${id} left ${count} nodes at once`;
  }

  /** Rule files that are all gone are no object. No leader knows what changed before its term, or before its first list. */
  #mayBeSingleChange(id: string): boolean {
    const { nowMs, termBeganMs, serviceWrites, configured } = this.#world;
    const changesMs = [...configured].flatMap(([object, atMs]) => (object === 'rules' ? [] : atMs));
    const knownMs = Math.max(termBeganMs, serviceWrites.learnedMs) + LAG_MS;
    const isUnknown = changesMs.some((atMs) => atMs < knownMs && nowMs - atMs <= DELAY_MS + SLACK_MS);
    const lately = changesMs.filter((atMs) => nowMs - atMs < DELAY_MS - SLACK_MS);
    return id !== `label:${IMPLIED_LABEL}` && (isUnknown || lately.length <= 1);
  }
}
