import type { HeldWithdrawals } from './held-withdrawals.ts';

/** For so long after its agent was first replaced, what a node says may be due to the agent. */
export const CHANGED_FOR_MS = 600_000;
const LOST_MIN = 3;
/** Of the nodes whose agent was replaced and that the service selects. */
const LOST_PERCENT = 55;

/** What a replaced agent says of a service: it sees it, no longer sees it, or no longer sees it and is doubted. */
type Sight = 'seen' | 'lost' | 'held';

/**
 * `lost`: the agent has just lost a service whose pod is Ready. `unchanged`: it did not see it before either, or does not
 * know. `settled`: the service is ready, or the agent is not the cause why it is not.
 */
export type Sighting = 'lost' | 'unchanged' | 'settled';

/**
 * Doubts agents that were replaced by another version of themselves, when most of them no longer see a service whose
 * pods are Ready: then it is more likely that they cannot look than that the service is gone. The first nodes lose the
 * service; on further ones it is held until 10 minutes after the first change of the agent there. Every call is O(1), but
 * for a tick, which is O(nodes whose time is over).
 */
export class ObserverGuard {
  readonly #versions = new Map<string, string>();
  /** When the agent of a node was first replaced; the first entry is the oldest. */
  readonly #changedMs = new Map<string, number>();
  /** By service, and by node whose agent was replaced. */
  readonly #sights = new Map<string, Sights>();

  /** Records the version of the agent that reports for a node; the empty string for one without a version. */
  sees(node: string, version: string, nowMs: number): void {
    const before = this.#versions.get(node);
    if (before === version) return;
    this.#versions.set(node, version);
    // What is heard first is no change, and a version that changes all the time is doubted no longer than any other.
    if (before !== undefined && !this.#changedMs.has(node)) this.#changedMs.set(node, nowMs);
  }

  /**
   * Records what was made of a service that selects the node. Returns until when a loss is held, if so. A loss that was
   * answered once has the same answer until the service is back, or the time is over.
   */
  holdsUntilMs(node: string, service: string, sighting: Sighting, nowMs: number): number | undefined {
    const untilMs = (this.#changedMs.get(node) ?? Number.NEGATIVE_INFINITY) + CHANGED_FOR_MS;
    if (untilMs <= nowMs) return undefined;
    const sights = this.#sights.get(service) ?? new Sights();
    this.#sights.set(service, sights);
    const before = sights.of(node);
    if (sighting === 'settled' || before === undefined) sights.put(node, 'seen');
    if (sighting !== 'lost') return undefined;
    if (before !== 'lost' && before !== 'held') sights.put(node, sights.isLostByMost ? 'held' : 'lost');
    return sights.of(node) === 'held' ? untilMs : undefined;
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

  held(): HeldWithdrawals[] {
    const counted = [...this.#sights].map(
      ([of, { counts }]): HeldWithdrawals => ({ guard: 'observer', of, nodes: counts.held }),
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

/** What the replaced agents say of one service, counted. */
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

  get isLostByMost(): boolean {
    return this.losses >= LOST_MIN && 100 * this.losses >= LOST_PERCENT * this.#nodes.size;
  }
}
