import { LOOKED_MS } from './assignments.ts';
import { LAG_MS } from './news.ts';
import type { Hearing } from './silence.ts';
import type { NodeTruth } from './truth.ts';
import { isDisputed, type Verdict } from './verdicts.ts';
import type { World } from './world.ts';

const CHANGED_FOR_MS = 600_000;
const LOST_MIN = 3;
const LOST_PERCENT = 55;
/** Ticks are a second apart. */
const TICK_MS = 1500;

/** What a changed agent may have made of a service. `none`: it has not yet looked since the change. */
const STATES = ['none', 'seen', 'lost', 'kept'] as const;
type State = (typeof STATES)[number];

/**
 * The agent of a node: the version that was heard last, and when it was first another one. `isSure`: whether it was.
 * `skippedMs`: when one was heard that was replaced before it was looked at.
 */
type Agent = { version: string | undefined; changedMs: number | undefined; isSure: boolean; skippedMs?: number };

type Memory = {
  agent: Agent;
  states: readonly State[];
  /** Whether the last that was seen of it was that it is ready; `undefined` where that is not known. */
  wasReady: boolean | undefined;
  hasPod: boolean;
  check: string;
  lookedMs: number;
  /** Until when its state may not have reached the coordinator. */
  unsureUntilMs: number;
};

/**
 * `verdict`: by the evidence alone. `hasPod`: a pod of the service is Ready. `isUnseen`: the agent alone speaks against
 * it. `check`: something that is other whenever what is asked is.
 */
type Seen = {
  service: string;
  verdict: Verdict;
  hearing: Hearing;
  hasPod: boolean;
  isUnseen: boolean;
  check: string;
};

/**
 * §12, *Observer*: a withdrawal that comes within 10 minutes of a change of the agent's version on that node, while a pod
 * of the service is Ready, is counted by service. Once 3 nodes and at least 55 % of the changed nodes that the service
 * selects lost it this way, further ones are kept, for 10 minutes from the first change. All others go.
 */
export class Observer {
  readonly #world: World;
  #termMs = Number.NaN;
  readonly #agents = new Map<string, Agent>();
  /** By service, then by uid of the Node. */
  readonly #services = new Map<string, Map<string, Memory>>();
  /** The nodes at the last look; until when one that came or went may not have been noticed. */
  #nodeCount = 0;
  #unsureUntilMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Whether the withdrawal of the service is kept: surely, perhaps, or not. */
  look(truth: NodeTruth, seen: Seen): 'kept' | 'maybe' | undefined {
    const { decided, termBeganMs, agentVersion } = this.#world;
    // No leader knows what was before its term.
    if (this.#termMs !== termBeganMs) {
      this.#termMs = termBeganMs;
      this.#agents.clear();
      this.#services.clear();
    }
    if (!decided || agentVersion === undefined) return undefined;
    const agent = this.#agentOf(truth, seen.hearing);
    const memory = this.#memoryOf(truth, seen, agent);
    memory.states = this.#statesAfter(memory, seen);
    memory.wasReady = wasReadyAfter(memory, seen);
    if (!memory.states.includes('kept')) return undefined;
    return memory.states.length === 1 && this.#isCounted(memory) ? 'kept' : 'maybe';
  }

  /** When nothing is kept any more. */
  get keptUntilMs(): number {
    const kept = [...this.#services.values()].flatMap((nodes) =>
      [...nodes.values()].filter(({ states }) => states.includes('kept')),
    );
    return Math.max(0, ...kept.map(({ agent }) => (agent.changedMs ?? 0) + CHANGED_FOR_MS + TICK_MS));
  }

  #agentOf(truth: NodeTruth, hearing: Hearing): Agent {
    const { nowMs, termBeganMs, truths } = this.#world;
    if (truths.size !== this.#nodeCount) this.#unsureUntilMs = nowMs + 2 * LAG_MS;
    this.#nodeCount = truths.size;
    const { version, before } = truth.said ?? {};
    const known = this.#agents.get(truth.uid);
    if (!known) {
      this.#unsureUntilMs = Math.max(this.#unsureUntilMs, nowMs + 2 * LAG_MS);
      // One that came before the first look may have been heard with another version.
      const isLate = version !== undefined && (truth.agentPodCameMs > termBeganMs || (before ?? version) !== version);
      const agent = { version, changedMs: isLate ? nowMs : undefined, isSure: false };
      this.#agents.set(truth.uid, agent);
      return agent;
    }
    const sinceMs = nowMs - (known.changedMs ?? nowMs);
    if (sinceMs > CHANGED_FOR_MS + TICK_MS) known.changedMs = undefined;
    const isUnclear = isDisputed(this.#world, truth);
    // The goodbye of the agent before may be all that was heard of it.
    const last = known.version ?? before;
    const isOther = last !== undefined && version !== undefined && version !== last;
    const isFirst = known.changedMs === undefined;
    // The change before may not have counted, or may count no longer.
    const mayBeFirst = isFirst || !known.isSure || sinceMs >= CHANGED_FOR_MS - TICK_MS;
    if ((isOther || isUnclear) && mayBeFirst) {
      known.changedMs = nowMs;
      known.isSure = hearing === 'speaks' && known.version !== undefined && !isUnclear && isFirst;
    }
    if (version !== known.version && before !== known.version) known.skippedMs = nowMs;
    known.version = version ?? known.version;
    return known;
  }

  #memoryOf({ uid }: NodeTruth, { service, hearing, hasPod, check }: Seen, agent: Agent): Memory {
    const { nowMs } = this.#world;
    const nodes = this.#services.get(service) ?? new Map<string, Memory>();
    this.#services.set(service, nodes);
    const known = nodes.get(uid);
    const isSame = known?.check === check && nowMs - known.lookedMs <= LOOKED_MS && hearing === 'speaks';
    const memory =
      known && isSame
        ? known
        : {
            agent,
            states: STATES,
            wasReady: undefined,
            hasPod,
            check,
            lookedMs: nowMs,
            unsureUntilMs: nowMs + 2 * LAG_MS,
          };
    nodes.set(uid, memory);
    if (memory.hasPod !== hasPod) memory.unsureUntilMs = nowMs + 2 * LAG_MS;
    Object.assign(memory, { hasPod, lookedMs: nowMs });
    return memory;
  }

  #statesAfter(memory: Memory, { service, verdict, isUnseen }: Seen): readonly State[] {
    const { agent, states, wasReady, unsureUntilMs } = memory;
    const { nowMs } = this.#world;
    if (agent.changedMs === undefined) return ['none'];
    const isUnsure = nowMs < unsureUntilMs;
    if (verdict === 'open' || agent.skippedMs === nowMs) return STATES;
    if (verdict === 'unknown') return looked(states);
    if (!isUnseen) return isUnsure ? STATES : ['seen'];
    if (wasReady === false && !isUnsure) return looked(states);
    const before = states.filter((each) => each === 'lost' || each === 'kept');
    if (before.length === states.length) return states;
    const { surely, perhaps } = this.#lostByMost(memory, service);
    const isClear = wasReady === true && !isUnsure;
    if (surely && agent.isSure && isClear && before.length === 0) return ['kept'];
    const may = { none: false, seen: !isClear, lost: true, kept: perhaps || before.includes('kept') };
    return STATES.filter((each) => may[each]);
  }

  /** Whether most of the changed nodes lost the service, the node of `memory` counted among them. */
  #lostByMost(memory: Memory, service: string): { surely: boolean; perhaps: boolean } {
    const count = { lost: 0, mayBeLost: 0, size: 1, maySize: 1 };
    for (const { uid } of this.#world.truths.values()) {
      const each = this.#services.get(service)?.get(uid);
      if (!each || each === memory || each.agent.changedMs === undefined) continue;
      const isSure = this.#isCounted(each);
      const isLost = (state: State) => state === 'lost' || state === 'kept';
      if (isSure && each.states.every(isLost)) count.lost += 1;
      if (each.states.some(isLost)) count.mayBeLost += 1;
      if (isSure && !each.states.includes('none')) count.size += 1;
      if (each.states.some((state) => state !== 'none')) count.maySize += 1;
    }
    const isMost = (lost: number, size: number) => lost >= LOST_MIN && 100 * lost >= LOST_PERCENT * size;
    const isUnsure = this.#world.nowMs < this.#unsureUntilMs;
    return {
      surely: !isUnsure && isMost(count.lost, count.maySize),
      perhaps: isUnsure || isMost(count.mayBeLost, count.size),
    };
  }

  /** Whether the coordinator surely counts it among the changed nodes, in this state. */
  #isCounted({ agent, lookedMs, unsureUntilMs }: Memory): boolean {
    const { nowMs } = this.#world;
    const forMs = nowMs - (agent.changedMs ?? Number.NEGATIVE_INFINITY);
    const isOver = forMs > CHANGED_FOR_MS - TICK_MS;
    return agent.isSure && !isOver && nowMs >= unsureUntilMs && nowMs - lookedMs <= LOOKED_MS;
  }
}

/** The states once the agent has said something. */
function looked(states: readonly State[]): readonly State[] {
  return STATES.filter(
    (each) => each !== 'none' && (states.includes(each) || (each === 'seen' && states.includes('none'))),
  );
}

/** What is kept counts as ready, so that its withdrawal is news once it is no longer kept. */
function wasReadyAfter({ states, wasReady }: Memory, { verdict, isUnseen }: Seen): boolean | undefined {
  if (verdict === 'open') return undefined;
  if (verdict === 'unknown') return wasReady;
  if (!isUnseen) return verdict === 'ready';
  if (states.length > 1) return undefined;
  return states[0] === 'kept';
}
