import type { Clock } from '@rollcall/common/clock.ts';
import type { Refusal } from './rules.ts';
import type { SchedulingPod, WorkspaceKind } from './scheduling-pod.ts';

/** kube-scheduler itself tries again after this time, whatever happens. */
const REMEMBERED_MS = 300_000;
/** What announces itself gets this long to bring the pod back on its own. */
const ANNOUNCEMENT_MS = 1_000;
/** A node is touched at most once in this time. */
const HINT_INTERVAL_MS = 1_000;
const PODS_MAX = 10_000;
const NODES_MAX = 5_000;

type Waiting = { kind: WorkspaceKind; sinceMs: number };
type Refused = { atMs: number; announced: boolean };
type Memory = {
  kinds: Map<WorkspaceKind, Refused>;
  /** Since when the reason has passed without a pod coming back. */
  passingSinceMs: number | undefined;
};

/**
 * Pods that found no node at all and are still waiting, and the nodes that they were refused on, by the kind of the
 * pods. When a reason passes that nothing announces, kube-scheduler has to be told, by a change of the Node.
 */
export class RefusalMemory {
  readonly #clock: Clock;
  /** By pod, the one that was refused longest ago first. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #waitingByKind = new Map<WorkspaceKind, number>();
  /** By node, the one that was refused longest ago first. */
  readonly #nodes = new Map<string, Memory>();
  /** By node that was touched within the interval, the one that was touched longest ago first. */
  readonly #hintedAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A pod found no node; these are all that were asked about. */
  refused(
    { id, workspace: kind }: Pick<SchedulingPod, 'id' | 'workspace'>,
    nodes: Iterable<readonly [node: string, refusal: Pick<Refusal, 'announced'>]>,
  ): void {
    if (kind === undefined) return;
    const atMs = this.#clock.monotonic();
    this.settled(id);
    forgetOldest(this.#waiting, PODS_MAX, (oldest) => this.settled(oldest));
    this.#waiting.set(id, { kind, sinceMs: atMs });
    this.#waitingByKind.set(kind, (this.#waitingByKind.get(kind) ?? 0) + 1);
    for (const [node, { announced }] of nodes) {
      const kinds = this.#nodes.get(node)?.kinds ?? new Map<WorkspaceKind, Refused>();
      this.#nodes.delete(node);
      forgetOldest(this.#nodes, NODES_MAX, (oldest) => this.#nodes.delete(oldest));
      this.#nodes.set(node, { kinds: kinds.set(kind, { atMs, announced }), passingSinceMs: undefined });
    }
  }

  /** The pod waits no longer: it found a node, has one, or is gone. */
  settled(pod: string): void {
    const waiting = this.#waiting.get(pod);
    if (!waiting) return;
    this.#waiting.delete(pod);
    this.#waitingByKind.set(waiting.kind, (this.#waitingByKind.get(waiting.kind) ?? 0) - 1);
  }

  /** Nodes on which something is remembered; none while no pod waits. */
  nodes(): string[] {
    this.#expire();
    return this.#waiting.size === 0 ? [] : [...this.#nodes.keys()];
  }

  /** The kinds of pods that were refused on a node and still wait. */
  awaited(node: string): WorkspaceKind[] {
    this.#expire();
    const kinds = [...(this.#nodes.get(node)?.kinds ?? [])];
    const remembered = kinds.filter(([, { atMs }]) => this.#clock.monotonic() - atMs < REMEMBERED_MS);
    return remembered.flatMap(([kind]) => (this.#waitingByKind.get(kind) ? [kind] : []));
  }

  /**
   * The node would take a pod that still waits. Returns whether kube-scheduler is to be told now, which then counts as
   * done. To be asked again and again, about once a second.
   */
  passed(node: string): boolean {
    const memory = this.#nodes.get(node);
    if (!memory || this.awaited(node).length === 0) return false;
    const nowMs = this.#clock.monotonic();
    memory.passingSinceMs ??= nowMs;
    const isAnnounced = [...memory.kinds.values()].every(({ announced }) => announced);
    if (isAnnounced && nowMs - memory.passingSinceMs < ANNOUNCEMENT_MS) return false;
    if (this.#hintedAtMs.has(node)) return false;
    this.#nodes.delete(node);
    this.#hintedAtMs.set(node, nowMs);
    return true;
  }

  /** The node would not take them after all. */
  refusedStill(node: string): void {
    const memory = this.#nodes.get(node);
    if (memory) memory.passingSinceMs = undefined;
  }

  #expire(): void {
    const nowMs = this.#clock.monotonic();
    for (const [pod, { sinceMs }] of this.#waiting) {
      if (nowMs - sinceMs < REMEMBERED_MS) break;
      this.settled(pod);
    }
    if (this.#waiting.size === 0) this.#nodes.clear();
    for (const [node, hintedAtMs] of this.#hintedAtMs) {
      if (nowMs - hintedAtMs < HINT_INTERVAL_MS) break;
      this.#hintedAtMs.delete(node);
    }
  }
}

/** Makes room for one more where there is none. */
function forgetOldest(from: ReadonlyMap<string, unknown>, max: number, forget: (oldest: string) => void): void {
  if (from.size < max) return;
  const [oldest] = from.keys();
  if (oldest !== undefined) forget(oldest);
}
