import { isDeepStrictEqual } from 'node:util';
import { sleep } from '@rollcall/common/clock.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import { TokenBucket } from '@rollcall/common/token-bucket.ts';
import { KubeStatusError, SLOW_MS } from '../../kube/client.ts';
import type { LeaderRequests } from '../../kube/leader-requests.ts';
import { WorkQueue } from '../../write/work-queue.ts';
import { EvictionRound, type RoundDependencies, WaitingPods } from './eviction-round.ts';
import { createEvictionMetrics } from './metrics.ts';
import type { NodeState } from './misplaced-pods.ts';

/** What is left of a node's state, and how long it takes until that is more. */
type DueLabels = { state: NodeState; moreInMs: number | undefined };

/**
 * Since when labels have been away, so that no pod goes for one that comes back soon. What was seen before this began,
 * or was forgotten, counts from the next look. Times are monotonic.
 */
export class AwayLabels {
  readonly #delayMs: number;
  /** By node, and there by `key=value`. */
  readonly #sinceMs = new Map<string, ReadonlyMap<string, number>>();

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  /** A node as it is now. Of what was withdrawn there remains what has been away for long enough. */
  look(node: string, { labels, withdrawn }: NodeState, nowMs: number): DueLabels {
    const before = this.#sinceMs.get(node);
    const sinceMs = new Map<string, number>();
    const due: Record<string, string> = {};
    let moreInMs: number | undefined;
    for (const [key, value] of Object.entries(withdrawn)) {
      if (Object.hasOwn(labels, key) && labels[key] === value) continue;
      const awaySinceMs = before?.get(`${key}=${value}`) ?? nowMs;
      sinceMs.set(`${key}=${value}`, awaySinceMs);
      const leftMs = awaySinceMs + this.#delayMs - nowMs;
      if (leftMs <= 0) due[key] = value;
      else moreInMs = Math.min(moreInMs ?? leftMs, leftMs);
    }
    if (sinceMs.size > 0) this.#sinceMs.set(node, sinceMs);
    else this.#sinceMs.delete(node);
    return { state: { labels, withdrawn: due }, moreInMs };
  }

  forget(node: string): void {
    this.#sinceMs.delete(node);
  }

  clear(): void {
    this.#sinceMs.clear();
  }
}

export type EvictorOptions = Pick<RoundDependencies, 'client' | 'clock' | 'signal' | 'logger' | 'record' | 'dryRun'> & {
  requests: LeaderRequests;
  /** A number in [0, 1). */
  random: () => number;
  registry: Registry;
  /** A Node as it is known now; `undefined` when it is not known. What was returned must not change any more. */
  stateOf: (node: string) => NodeState | undefined;
  /** How long a label has to be away before pods go for it. */
  delayMs: number;
  /** Evictions in the whole fleet; defaults to 1. */
  perSecond?: number;
};

const PER_SECOND = 1;
const BURST = 10;
/** A node about which nothing is new is not listed more often, however often it is asked for. */
const SAME_AGAIN_MS = 60_000;

type Lane = 'normal' | 'slow';

/**
 * Evicts the pods that have lost their place on a node, because it lost labels that rollcall withdrew. One node after
 * the other, and each is looked at again until no such pod is left. No other node waits for one of which a request hangs,
 * and nodes that were slow wait for each other only. Ends with its signal.
 */
export class Evictor {
  readonly #options: EvictorOptions;
  readonly #queue: WorkQueue;
  readonly #budget: TokenBucket;
  readonly #away: AwayLabels;
  readonly #dependencies: RoundDependencies;
  readonly #nodes = new Map<string, WaitingPods>();
  /** Lanes of which a node is worked on. */
  readonly #busy = new Set<Lane>();
  readonly #slow = new Set<string>();

  constructor(options: EvictorOptions) {
    this.#options = options;
    const { clock, random, delayMs, perSecond = PER_SECOND, registry, signal } = options;
    this.#away = new AwayLabels(delayMs);
    this.#queue = new WorkQueue({
      clock,
      random,
      onReady: () => this.#next(),
      isSlow: (node) => this.#slow.has(node),
    });
    this.#budget = new TokenBucket({ intervalMs: 1000 / perSecond, burst: BURST });
    const metrics = createEvictionMetrics(registry, () => this.#pending());
    this.#dependencies = { ...options, budget: this.#budget, metrics, stateOf: (node) => this.#stateOf(node) };
    signal.addEventListener('abort', () => this.restart(), { once: true });
  }

  /** Looks at a node soon, if rollcall withdrew labels from it. Calls while the fence is closed are ignored. */
  consider(node: string): void {
    if (!this.#mayWrite()) return;
    const state = this.#lookInTime(node);
    if (!state) {
      this.#forget(node);
      return;
    }
    const looked = this.#nodes.get(node)?.looked;
    const restMs = looked && isDeepStrictEqual(looked.state, state) ? looked.atMs + SAME_AGAIN_MS - this.#nowMs() : 0;
    if (restMs > 0) this.#queue.addAfter(node, restMs);
    else this.#queue.add(node);
  }

  /** Forgets everything: the next leader looks at every node, and every label counts as away from then on. */
  restart(): void {
    this.#queue.clear();
    this.#nodes.clear();
    this.#slow.clear();
    this.#away.clear();
  }

  #next(): void {
    for (const lane of ['normal', 'slow'] as const) this.#fill(lane);
  }

  #fill(lane: Lane): void {
    const item = this.#busy.has(lane) ? undefined : this.#queue.take(lane);
    if (!item) return;
    this.#busy.add(lane);
    let isWaitedFor = true;
    const leave = () => {
      if (!isWaitedFor) return;
      isWaitedFor = false;
      this.#busy.delete(lane);
      this.#next();
    };
    void this.#work(item.key, leave).finally(() => {
      this.#queue.done(item.key);
      leave();
    });
  }

  /** `onSlow` is called when a request hangs. */
  async #work(name: string, onSlow: () => void): Promise<void> {
    const state = await this.#stateInTurn(name);
    if (state) await this.#lookAt(name, state, onSlow);
    else this.#forget(name);
    if (!this.#mayWrite()) this.restart();
  }

  #forget(name: string): void {
    this.#nodes.delete(name);
    this.#slow.delete(name);
  }

  /**
   * The node's state, which is looked at again once more of it counts. Both are of one moment: what came to count
   * between two readings of the clock would be in neither.
   */
  #lookInTime(name: string): NodeState | undefined {
    const due = this.#dueOf(name);
    if (due?.moreInMs !== undefined) this.#queue.addAfter(name, due.moreInMs);
    return somethingToDo(due);
  }

  /** The node's state once there is something left of the budget, so that what is listed then is not old. */
  async #stateInTurn(name: string): Promise<NodeState | undefined> {
    const { clock, signal } = this.#options;
    for (;;) {
      const state = this.#lookInTime(name);
      const waitMs = this.#budget.waitMs(this.#nowMs());
      if (!state || waitMs === 0) return state;
      await sleep(clock, waitMs, signal);
    }
  }

  async #lookAt(name: string, state: NodeState, onSlow: () => void): Promise<void> {
    const pods = this.#nodes.get(name) ?? new WaitingPods(this.#options.random);
    this.#nodes.set(name, pods);
    pods.looked = { state, atMs: this.#nowMs() };
    this.#slow.delete(name);
    const timed = (to: RoundDependencies['client']) =>
      this.#timed(to, () => {
        this.#slow.add(name);
        onSlow();
      });
    const [client, requests] = [timed(this.#options.client), timed(this.#options.requests)];
    const round = new EvictionRound(name, pods, { ...this.#dependencies, client, requests });
    try {
      await round.run();
      pods.backoff.reset();
      this.#lookAgainInTime(name, pods);
    } catch (err) {
      this.#retry(name, pods, err);
    }
  }

  /** Calls `onSlow` for each request that takes long. */
  #timed(client: RoundDependencies['client'], onSlow: () => void): RoundDependencies['client'] {
    const { clock } = this.#options;
    return {
      request: (request) => {
        const cancel = clock.after(SLOW_MS, onSlow);
        return client.request<never>(request).finally(cancel);
      },
    };
  }

  #lookAgainInTime(name: string, pods: WaitingPods): void {
    const dueMs = pods.nextDueMs();
    if (dueMs === undefined || this.#options.dryRun || !this.#mayWrite()) return;
    const delayMs = dueMs - this.#nowMs();
    if (delayMs > 0) this.#queue.addAfter(name, delayMs);
    else this.#queue.add(name);
  }

  #retry(name: string, { backoff }: WaitingPods, err: unknown): void {
    const { logger } = this.#options;
    if (!this.#mayWrite()) return;
    const isNews = backoff.attempts === 0;
    const retryAfterMs = err instanceof KubeStatusError ? (err.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(backoff.next(), retryAfterMs);
    this.#queue.addAfter(name, delayMs);
    const fields = { node: name, err, delayMs: Math.round(delayMs) };
    if (isNews) logger.warn(fields, 'Failed to evict pods from a node; it is tried until they go');
    else logger.debug(fields, 'Failed again to evict pods from a node');
  }

  #pending(): number {
    return this.#mayWrite() ? this.#nodes.values().reduce((sum, { size }) => sum + size, 0) : 0;
  }

  /** `undefined` when there is nothing to do for the node, or no right to. */
  #stateOf(name: string): NodeState | undefined {
    return somethingToDo(this.#dueOf(name));
  }

  #dueOf(name: string): DueLabels | undefined {
    if (!this.#mayWrite()) return undefined;
    const state = this.#options.stateOf(name);
    if (state) return this.#away.look(name, state, this.#nowMs());
    this.#away.forget(name);
    return undefined;
  }

  #mayWrite(): boolean {
    return this.#options.requests.mayBegin;
  }

  #nowMs(): number {
    return this.#options.clock.monotonic();
  }
}

function somethingToDo(due: DueLabels | undefined): NodeState | undefined {
  return due && Object.keys(due.state.withdrawn).length > 0 ? due.state : undefined;
}
