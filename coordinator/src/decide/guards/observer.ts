import type { ActiveGuard } from '@rollcall/common/guards.ts';
import type { Observer, Sighted, Sighting } from '../readiness/verdict.ts';

/** How long after the first replacement of its agent a loss on a node may be due to the agent. */
export const CHANGED_FOR_MS = 600_000;
const LOST_MIN = 3;
/** Share of the nodes whose agent was replaced and that the service selects. */
const LOST_PERCENT = 55;

/** The state of a service for a replaced agent: it sees it, no longer sees it, or no longer sees it and is doubted. */
type Sight = 'seen' | 'lost' | 'held';

/**
 * Doubts agents that were replaced by another version of themselves, when most of them no longer see a service whose
 * pods are Ready: then it is more likely that they cannot look than that the service is gone. The first nodes lose the
 * service; on further ones it is held until 10 minutes after the first change of the agent there. Every call is O(1), but
 * for a tick, which is O(nodes whose time is over).
 */
export class ObserverGuard implements Observer {
  readonly #versions = new Map<string, string>();
  /** When the agent of a node was first replaced; the first entry is the oldest. */
  readonly #changedMs = new Map<string, number>();
  /** Keyed by service; each has the nodes whose agent was replaced. */
  readonly #sights = new Map<string, Sights>();

  /** Records the version of the agent that reports for a node; the empty string for one without a version. */
  sees(node: string, version: string, nowMs: number): void {
    // A version that changes all the time is doubted no longer than any other.
    if (this.#isOther(node, version) && !this.#changedMs.has(node)) this.#changedMs.set(node, nowMs);
    this.#versions.set(node, version);
  }

  /** Until when a loss of the service on the node is held, if so, by the monotonic clock. Changes nothing. */
  heldUntilMs({ node, version, service, sighting }: Sighted, nowMs: number): number | undefined {
    if (sighting !== 'lost') return undefined;
    const changedMs = this.#changedMs.get(node) ?? (this.#isOther(node, version) ? nowMs : Number.NEGATIVE_INFINITY);
    const untilMs = changedMs + CHANGED_FOR_MS;
    if (untilMs <= nowMs) return undefined;
    return sightAfter(this.#sights.get(service), node, sighting) === 'held' ? untilMs : undefined;
  }

  /** Records what was made of a service that selects the node: a loss that is held once is held until it ends. */
  record({ node, service, sighting }: Sighted, nowMs: number): void {
    const changedMs = this.#changedMs.get(node);
    if (changedMs === undefined || changedMs + CHANGED_FOR_MS <= nowMs) return;
    const sights = this.#sights.get(service) ?? new Sights();
    this.#sights.set(service, sights);
    sights.put(node, sightAfter(sights, node, sighting));
  }

  /** The first version that is heard is no change. */
  #isOther(node: string, version: string | undefined): boolean {
    const before = this.#versions.get(node);
    return version !== undefined && before !== undefined && before !== version;
  }

  /** Returns the nodes on which a service is no longer held, because their time is over. */
  tick(nowMs: number): string[] {
    const due: string[] = [];
    for (const [node, changedMs] of this.#changedMs) {
      if (changedMs + CHANGED_FOR_MS > nowMs) break;
      this.#changedMs.delete(node);
      for (const [service, sights] of this.#sights) {
        if (sights.of(node) === 'held') due.push(node);
        sights.put(node, undefined);
        if (sights.counts.seen + sights.losses === 0) this.#sights.delete(service);
      }
    }
    return due;
  }

  held(): ActiveGuard[] {
    const counted = [...this.#sights].map(
      ([of, { counts }]): ActiveGuard => ({ subject: 'agent-version', of, nodes: counts.held }),
    );
    return counted.filter(({ nodes }) => nodes > 0);
  }

  /** The Node is gone. */
  forget(node: string): void {
    this.#versions.delete(node);
    this.#changedMs.delete(node);
    for (const sights of this.#sights.values()) sights.put(node, undefined);
  }
}

/** The state of a service after a sighting. The answer to a loss stays until the service is back. */
function sightAfter(sights: Sights | undefined, node: string, sighting: Sighting): Sight {
  const before = sights?.of(node);
  if (sighting === 'settled') return 'seen';
  if (sighting === 'unchanged' || before === 'lost' || before === 'held') return before ?? 'seen';
  return sights?.isLostByMost(node) ? 'held' : 'lost';
}

/** The states of one service for the replaced agents, counted. */
class Sights {
  readonly counts: Record<Sight, number> = { seen: 0, lost: 0, held: 0 };
  readonly #nodes = new Map<string, Sight>();

  of(node: string): Sight | undefined {
    return this.#nodes.get(node);
  }

  put(node: string, sight: Sight | undefined): void {
    const before = this.#nodes.get(node);
    if (before) this.counts[before] -= 1;
    if (sight) {
      this.counts[sight] += 1;
      this.#nodes.set(node, sight);
    } else this.#nodes.delete(node);
  }

  get losses(): number {
    return this.counts.lost + this.counts.held;
  }

  /** Whether most of the nodes lost it, `node` counted among them. */
  isLostByMost(node: string): boolean {
    const size = this.#nodes.size + (this.#nodes.has(node) ? 0 : 1);
    return this.losses >= LOST_MIN && 100 * this.losses >= LOST_PERCENT * size;
  }
}
