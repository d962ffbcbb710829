import type { ActiveGuard } from '@rollcall/common/guards.ts';
import { isShared, type Population, ruleOf } from '../../state/guard.ts';
import type { Observer, Sighted, SpeakingAgent } from '../readiness/verdict.ts';

/** How long after the first replacement of its agent a loss on a node may be due to the agent. */
export const CHANGED_FOR_MS = 600_000;
const RULE = ruleOf('agent-version');

/** What a replaced agent makes of a service: it sees it, no longer sees it, or no longer sees it and is doubted. */
type Sight = 'seen' | 'lost' | 'held';
/** The nodes whose agent was replaced, and that a service selects. */
type Replaced = Record<Sight, Set<string>>;

/**
 * Doubts agents that were replaced by another version of themselves, when most of them no longer see a service whose
 * pods are Ready: then it is more likely that they cannot look than that the service is gone. The first nodes lose the
 * service; on further ones it is held until 10 minutes after the first change of the agent there. Every call is O(1), but
 * for a tick, which is O(replaced agents).
 */
export class ObserverGuard implements Observer {
  readonly #isKnown: () => boolean;
  readonly #versions = new Map<string, string>();
  /** When the agent of a node was first replaced. */
  readonly #changedMs = new Map<string, number>();
  /** By service. */
  readonly #services = new Map<string, Replaced>();
  readonly #beganMs: number;
  #wasKnown = false;

  /** `isKnown`: whether most agents were heard since the term began, at `beganMs`, or the API server came back. */
  constructor(isKnown: () => boolean, beganMs: number) {
    this.#isKnown = isKnown;
    this.#beganMs = beganMs;
  }

  /** Records the agent that reports for a node. */
  sees(node: string, agent: SpeakingAgent, nowMs: number): void {
    const changedMs = this.#changeMs(node, agent, nowMs);
    this.#versions.set(node, agent.version);
    if (changedMs + CHANGED_FOR_MS > nowMs) this.#changedMs.set(node, changedMs);
  }

  /** Until when a loss of the service on the node is held, if so, by the monotonic clock. Changes nothing. */
  heldUntilMs(sighted: Sighted, nowMs: number): number | undefined {
    const { node, agent, service, sighting } = sighted;
    if (sighting !== 'lost') return undefined;
    const untilMs = this.#changeMs(node, agent, nowMs) + CHANGED_FOR_MS;
    if (untilMs <= nowMs) return undefined;
    return this.#sightAfter(this.#services.get(service) ?? newReplaced(), sighted) === 'held' ? untilMs : undefined;
  }

  /** Records what was made of a service that selects the node: a loss that is held once is held until it ends. */
  record(sighted: Sighted, nowMs: number): void {
    const { node, service } = sighted;
    const changedMs = this.#changedMs.get(node);
    if (changedMs === undefined || changedMs + CHANGED_FOR_MS <= nowMs) return;
    const replaced = this.#services.get(service) ?? newReplaced();
    this.#services.set(service, replaced);
    const sight = this.#sightAfter(replaced, sighted);
    for (const names of Object.values(replaced)) names.delete(node);
    replaced[sight].add(node);
  }

  /** Returns the nodes on which a service is no longer held. */
  tick(nowMs: number): string[] {
    const isKnown = this.#isKnown();
    const due: string[] = [];
    for (const [node, changedMs] of this.#changedMs)
      if (changedMs + CHANGED_FOR_MS <= nowMs) due.push(...this.#end(node));
    // What was held until the population was known is judged by it.
    for (const [service, replaced] of isKnown && !this.#wasKnown ? this.#services : []) {
      const { seen, lost, held } = replaced;
      if (held.size === 0 || isShared(RULE, populationOf(replaced))) continue;
      due.push(...held);
      this.#services.set(service, { seen, lost: lost.union(held), held: new Set() });
    }
    this.#wasKnown = isKnown;
    return due;
  }

  held(): ActiveGuard[] {
    const counted = [...this.#services].map(
      ([of, { held }]): ActiveGuard => ({ subject: 'agent-version', of, nodes: held.size }),
    );
    return counted.filter(({ nodes }) => nodes > 0);
  }

  /** The Node is gone. */
  forget(node: string): void {
    this.#versions.delete(node);
    this.#end(node);
  }

  /** The answer to a loss stays until the service is back. */
  #sightAfter(replaced: Replaced, { node, sighting }: Sighted): Sight {
    if (sighting === 'settled') return 'seen';
    if (replaced.lost.has(node)) return 'lost';
    if (replaced.held.has(node)) return 'held';
    if (sighting === 'lost') return !this.#isKnown() || isShared(RULE, populationOf(replaced, node)) ? 'held' : 'lost';
    const isTakenOver = (this.#changedMs.get(node) ?? this.#beganMs) < this.#beganMs;
    return sighting === 'gone' && isTakenOver ? 'lost' : 'seen';
  }

  /** When the agent was replaced. A version that changes all the time is doubted no longer than any other. */
  #changeMs(node: string, agent: SpeakingAgent | undefined, nowMs: number): number {
    const [knownMs, before] = [this.#changedMs.get(node), this.#versions.get(node)];
    if (knownMs !== undefined) return knownMs;
    if (!agent || before === agent.version) return Number.NEGATIVE_INFINITY;
    if (before !== undefined) return nowMs;
    // The first version that is heard is no change, but for one that the term before may have seen.
    return agent.startedMs < this.#beganMs ? agent.startedMs : Number.NEGATIVE_INFINITY;
  }

  /** The agent of the node is believed again. Returns the node, once for each service that it kept. */
  #end(node: string): string[] {
    this.#changedMs.delete(node);
    const due: string[] = [];
    for (const [service, replaced] of this.#services) {
      if (replaced.held.has(node)) due.push(node);
      for (const names of Object.values(replaced)) names.delete(node);
      if (populationOf(replaced).size === 0) this.#services.delete(service);
    }
    return due;
  }
}

function newReplaced(): Replaced {
  return { seen: new Set(), lost: new Set(), held: new Set() };
}

/** `node`: counts among them in any case. */
function populationOf({ seen, lost, held }: Replaced, node?: string): Population {
  const losing = lost.size + held.size;
  const isNew = node !== undefined && ![seen, lost, held].some((names) => names.has(node));
  return { size: seen.size + losing + (isNew ? 1 : 0), losing };
}
