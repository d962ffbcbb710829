import { POOL_LABEL } from './node-services.ts';
import type { NodeTruth } from './truth.ts';
import type { World } from './world.ts';

/**
 * How a node is heard: `speaks`; `unheard`, so that everything is to stay; `silent`, which is held against it; `open`
 * where the model does not know to the second what the coordinator does.
 */
export type Hearing = 'speaks' | 'unheard' | 'silent' | 'open';

export const WINDOW_MS = 30_000;
const GOODBYE_MS = 120_000;
/** Ticks are a second apart, and what is watched comes late. */
const SLACK_MS = 2500;

/** How many nodes surely and perhaps count, and how many of each are overdue. */
type Group = { sureCount: number; mayCount: number; surely: number; perhaps: number };

/** Whether so many are silent that silence means nothing. */
const holds = ({ mayCount, surely }: Group) => surely > 2 && surely >= 0.55 * mayCount;

/** Who is silent, and whether so many are that silence means nothing. To be looked at once a second. */
export class Silence {
  readonly #world: World;
  /** Until when a guard may hold that held lately, by its name; and what it held back, by `node UID`. */
  readonly #perhapsUntilMs = new Map<string, number>();
  /** Since when a guard surely holds, by its name. */
  #holdsSinceMs: ReadonlyMap<string, number> = new Map();
  #groups = new Map<string, Group>();
  /** The nodes, by uid, that surely had an agent when the term began. Its pod may have been replaced since. */
  #term = { beganMs: Number.NaN, heardBefore: new Set<string>() };
  /** The nodes, by uid, that were heard in any term. */
  readonly #heard = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  look(): void {
    const { termBeganMs } = this.#world;
    if (this.#term.beganMs !== termBeganMs) this.#term = { beganMs: termBeganMs, heardBefore: new Set() };
    this.#groups = new Map();
    for (const truth of this.#world.truths.values()) {
      const { isSure, isPossible } = this.#counts(truth);
      const forMs = this.#overdueForMs(truth);
      for (const name of this.#groupsOf(truth)) {
        const group = this.#groups.get(name) ?? { sureCount: 0, mayCount: 0, surely: 0, perhaps: 0 };
        this.#groups.set(name, group);
        if (isSure) group.sureCount += 1;
        if (isPossible) group.mayCount += 1;
        if (isSure && forMs > SLACK_MS && !this.#isLeaving(truth)) group.surely += 1;
        if (isPossible && forMs > -SLACK_MS) group.perhaps += 1;
      }
    }
    const { nowMs } = this.#world;
    const holding = [...this.#groups].filter(([, group]) => holds(group));
    this.#holdsSinceMs = new Map(holding.map(([name]) => [name, this.#holdsSinceMs.get(name) ?? nowMs]));
    for (const [name, { sureCount, mayCount, perhaps }] of this.#groups) {
      // While no agent of the fleet was heard, the silence of all counts.
      const isUnheard = name === 'fleet' && sureCount === 0;
      // A group of one or two nodes has no guard.
      const isLarge = mayCount > 2;
      if (isLarge && (isUnheard || (perhaps > 0 && perhaps >= 0.4 * sureCount)))
        this.#perhapsUntilMs.set(name, nowMs + WINDOW_MS + 2 * SLACK_MS);
    }
    // A node that leaves its pool gets one fresh window as well.
    for (const truth of this.#world.truths.values()) {
      const untilMs = Math.max(0, ...this.#groupsOf(truth).map((name) => this.#perhapsUntilMs.get(name) ?? 0));
      if (nowMs < untilMs) this.#perhapsUntilMs.set(`node ${truth.uid}`, untilMs);
    }
  }

  /** Nodes count whose agent was heard in this term, or by the term before: the pod of an agent is always Ready here. */
  #counts({ uid, voices, agents, agentPodCameMs, createdAtMs }: NodeTruth): { isSure: boolean; isPossible: boolean } {
    const { beganMs, heardBefore } = this.#term;
    if (agents.length > 0 && Math.max(agentPodCameMs, createdAtMs) < beganMs - SLACK_MS) heardBefore.add(uid);
    const isSure = voices.size > 0 || (agents.length > 0 && heardBefore.has(uid));
    if (voices.size > 0) this.#heard.add(uid);
    const mayBeHeard = this.#heard.has(uid) || agentPodCameMs <= beganMs + SLACK_MS;
    // Where none is left, the Node may still say that one was heard.
    const isUnclear = agents.length > 1 || mayBeHeard;
    return { isSure, isPossible: isSure || isUnclear };
  }

  of(truth: NodeTruth): Hearing {
    const { nowMs, termBeganMs, wallClockJumped } = this.#world;
    const last = lastVoice(truth);
    if (last && truth.said && nowMs - last.atMs < (last.leaving ? GOODBYE_MS : WINDOW_MS)) {
      const others = [...truth.voices.values()].filter((voice) => voice !== last);
      // One that hung counts again when its successor goes, until its own pod does.
      const isUnclear = last.leaving && others.some((voice) => voice.leaving || nowMs - voice.atMs >= WINDOW_MS);
      // By a clock that was set back, the pod of the older agent may be the newer one.
      const mayBeOlder = wallClockJumped && others.some(({ atMs }) => nowMs - atMs < WINDOW_MS + SLACK_MS);
      return isUnclear || mayBeOlder ? 'open' : 'speaks';
    }
    if (last && !truth.said) return 'unheard';
    if (!last && nowMs - this.#unheardSinceMs(truth, termBeganMs) < WINDOW_MS) return 'unheard';
    if (this.#isLeaving(truth)) return 'open';
    if (!last && nowMs - truth.agentPodCameMs <= WINDOW_MS + SLACK_MS) return 'open';
    return this.#guarded(truth);
  }

  /** A pod that goes has said goodbye, whether its agent could or not; who leads since then cannot know when. */
  #isLeaving({ agents, agentPodCameMs, agentPodWentMs }: NodeTruth): boolean {
    const { nowMs, termBeganMs } = this.#world;
    const wasGone = agents.length === 0 || agentPodCameMs > termBeganMs;
    const wentMs = wasGone ? Math.max(agentPodWentMs, termBeganMs) : agentPodWentMs;
    return nowMs - wentMs <= GOODBYE_MS + SLACK_MS;
  }

  #unheardSinceMs({ createdAtMs, agents }: NodeTruth, termBeganMs: number): number {
    return agents.length > 0 ? Math.max(createdAtMs, termBeganMs) : termBeganMs;
  }

  #guarded(truth: NodeTruth): Hearing {
    const names = this.#groupsOf(truth);
    const { nowMs } = this.#world;
    // A Node that went a moment ago is one of them still, for who hears of it late.
    if (names.some((name) => nowMs - (this.#holdsSinceMs.get(name) ?? nowMs) > SLACK_MS)) return 'unheard';
    return [...names, `node ${truth.uid}`].some((name) => nowMs < (this.#perhapsUntilMs.get(name) ?? 0))
      ? 'open'
      : 'silent';
  }

  /** How long ago the node became overdue; negative before. */
  #overdueForMs(truth: NodeTruth): number {
    const { nowMs, termBeganMs } = this.#world;
    const last = lastVoice(truth);
    const graceMs = last?.leaving ? GOODBYE_MS - WINDOW_MS / 2 : WINDOW_MS / 2;
    return nowMs - (last?.atMs ?? Math.max(termBeganMs, truth.agentPodCameMs, truth.createdAtMs)) - graceMs;
  }

  #groupsOf({ name }: NodeTruth): string[] {
    const pool = this.#world.nodes.get(name)?.metadata.labels?.[POOL_LABEL];
    return ['fleet', ...(pool ? [`pool ${pool}`] : [])];
  }
}

/** They are in the order in which they spoke. */
function lastVoice({ voices }: NodeTruth) {
  return [...voices.values()].at(-1);
}
