import type { ReportContent } from '@rollcall/common/report.ts';

/** What an agent says of the machine itself. */
export type Machine = Pick<ReportContent, 'devices' | 'unread' | 'facts'>;

type Shown = { machine: Machine; paidUntilMs: number; next?: Machine | undefined };

/** What one machine may cost: so many changes at once, and then one in a second. */
const BURST = 5;
const EACH_MS = 1000;

/**
 * What the machines of the nodes are like. One that keeps changing, since a device has a loose contact or its agent is
 * hostile, is taken over as it is once a second: each change may cost writes. Times are monotonic.
 */
export class Machines {
  readonly #shown = new Map<string, Shown>();
  readonly #waiting = new Set<string>();

  of(node: string): Machine | undefined {
    return this.#shown.get(node)?.machine;
  }

  /** Takes what was reported. Whether that is what counts now, and is other than before, made of other objects. */
  take(node: string, { devices, unread, facts }: Machine, nowMs: number): boolean {
    const machine = { devices, ...(unread ? { unread } : {}), facts };
    const shown = this.#shown.get(node);
    if (shown && isSame(shown.machine, machine)) {
      this.#waiting.delete(node);
      return false;
    }
    const paidUntilMs = Math.max(shown?.paidUntilMs ?? 0, nowMs) + EACH_MS;
    if (shown && paidUntilMs - nowMs > BURST * EACH_MS) {
      shown.next = machine;
      this.#waiting.add(node);
      return false;
    }
    this.#waiting.delete(node);
    this.#shown.set(node, { machine, paidUntilMs });
    return true;
  }

  /** To be called once a second. The nodes of which something else counts from now on. */
  tick(nowMs: number): string[] {
    const changed = [...this.#waiting];
    this.#waiting.clear();
    for (const node of changed) {
      const shown = this.#shown.get(node);
      if (!shown?.next) continue;
      const paidUntilMs = Math.max(shown.paidUntilMs, nowMs) + EACH_MS;
      this.#shown.set(node, { machine: shown.next, paidUntilMs });
    }
    return changed;
  }

  forget(node: string): void {
    this.#shown.delete(node);
    this.#waiting.delete(node);
  }

  clear(): void {
    this.#shown.clear();
    this.#waiting.clear();
  }
}

function isSame(a: Machine, b: Machine): boolean {
  return a.devices === b.devices && a.unread === b.unread && a.facts === b.facts;
}
