import type { HeldWithdrawals } from './held-withdrawals.ts';

/** For so long after its agent was replaced, what a node says may be due to the agent. */
export const CHANGED_FOR_MS = 600_000;
const LOST_MIN = 3;
/** Of the nodes whose agent was replaced. */
const LOST_PERCENT = 55;

type Loss = 'lost' | 'held';

/**
 * Doubts agents that were replaced by another version of themselves, when most of them no longer see a service whose
 * pods are Ready: then it is more likely that they cannot look than that the service is gone. The first nodes lose the
 * service; on further ones it is held until the agent there has been of that version for 10 minutes. Every call is O(1),
 * but for a tick, which is O(nodes whose time is over).
 */
export class ObserverGuard {
  readonly #versions = new Map<string, string>();
  /** When the agent of a node was replaced; the first is the oldest. */
  readonly #changedMs = new Map<string, number>();
  /** By service, and by node. */
  readonly #losses = new Map<string, Map<string, Loss>>();

  /** The version of the agent that reports for a node; the empty string for one that does not tell. */
  sees(node: string, version: string, nowMs: number): void {
    const before = this.#versions.get(node);
    if (before === version) return;
    this.#versions.set(node, version);
    // What is heard first says nothing of what was there before.
    if (before === undefined) return;
    this.#changedMs.delete(node);
    this.#changedMs.set(node, nowMs);
  }

  /**
   * An agent says that a service is gone whose pod is Ready. Returns until when nothing is to be made of it, if so. What
   * was answered once for a node stays the answer until the service is back, or the time is over.
   */
  holdsUntilMs(node: string, service: string, nowMs: number): number | undefined {
    const untilMs = (this.#changedMs.get(node) ?? Number.NEGATIVE_INFINITY) + CHANGED_FOR_MS;
    if (untilMs <= nowMs) return undefined;
    const losses = this.#losses.get(service) ?? new Map<string, Loss>();
    this.#losses.set(service, losses);
    const loss = losses.get(node) ?? (this.#doubts(losses) ? 'held' : 'lost');
    losses.set(node, loss);
    return loss === 'held' ? untilMs : undefined;
  }

  /** The service is there again, or its pods say that it is gone. */
  settled(node: string, service: string): void {
    this.#losses.get(service)?.delete(node);
  }

  /** Nodes on which a service is no longer held, because their time is over. */
  tick(nowMs: number): string[] {
    const due: string[] = [];
    for (const [node, changedMs] of this.#changedMs) {
      if (changedMs + CHANGED_FOR_MS > nowMs) break;
      this.#changedMs.delete(node);
      for (const losses of this.#losses.values()) {
        if (losses.get(node) === 'held') due.push(node);
        losses.delete(node);
      }
    }
    return due;
  }

  held(): HeldWithdrawals[] {
    const counted = [...this.#losses].map(([of, losses]): HeldWithdrawals => {
      const nodes = [...losses.values()].filter((loss) => loss === 'held').length;
      return { guard: 'observer', of, nodes };
    });
    return counted.filter(({ nodes }) => nodes > 0);
  }

  /** The Node is gone. */
  forget(node: string): void {
    this.#versions.delete(node);
    this.#changedMs.delete(node);
    for (const losses of this.#losses.values()) losses.delete(node);
  }

  #doubts(losses: ReadonlyMap<string, Loss>): boolean {
    return losses.size >= LOST_MIN && 100 * losses.size >= LOST_PERCENT * this.#changedMs.size;
  }
}
