import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import { Slices } from '@rollcall/common/slices.ts';
import type { SeenNode } from '../decide/intent/kinds/kind.ts';
import type { NodePlan } from '../decide/intent/plan.ts';
import { isTimeout, KubeStatusError } from '../kube/client.ts';
import { LostWrites } from './lost-writes.ts';
import { type ApplyMetrics, createApplyMetrics } from './metrics.ts';
import { NodeTurn, type TurnDependencies, type WriteHandler } from './node-turn.ts';
import type { NodeWriter } from './node-writer.ts';
import type { SkippedKeys } from './skipped-keys.ts';
import { SlowNodes } from './slow-nodes.ts';
import type { TurnEnd } from './turn-end.ts';
import { type Lane, RETRY_MAX_MS, type WorkDetails, type WorkItem, WorkQueue } from './work-queue.ts';
import { WRITES_MAX, WriteGate } from './write-gate.ts';

export type WriteQueueOptions = {
  /** The Node as it is known from memory. */
  observed: (nodeName: string) => SeenNode | undefined;
  writer: NodeWriter;
  skipped: SkippedKeys;
  /** Logs what would be written instead of writing it. */
  dryRun: boolean;
  registry: Registry;
  logger: Logger;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
};

/**
 * How many Nodes of a lane are worked on. Urgent ones have seats of their own, so that they never wait for one that is not,
 * and more than there are slots, so that they wait for none of which the refused keys are searched; slow ones have a quarter
 * of the slots, so that the rest is left to Nodes that are well.
 */
const SEATS = { urgent: 4 * WRITES_MAX, normal: WRITES_MAX, slow: WRITES_MAX / 4 } as const;

const GONE_RECHECK_MS = 5000;

/** A Node that changes faster than it can be written is tried at least every 10 s: what is written may keep pods away. */
const STALE_RETRY_MAX_MS = 8000;

/** How often Nodes are tried again that failed by a fault of the API server, over all of them, while each waits less than 30 s. */
const FAILED_PER_SECOND = 10;
/** How long a few such Nodes wait. */
const FAILED_RETRY_MAX_MS = 1000;

/**
 * Takes the names of Nodes and makes their plans true, each Node by one worker at a time. One writeQueue serves a
 * process: whether it may write is the fence's matter, and what is added while it may not is dropped.
 */
export class WriteQueue<P extends NodePlan = NodePlan> {
  readonly #queue: WorkQueue;
  readonly #gate: WriteGate;
  readonly #slowNodes: SlowNodes;
  readonly #metrics: ApplyMetrics;
  readonly #turnDependencies: TurnDependencies;
  readonly #options: WriteQueueOptions;
  #handler: WriteHandler<P> | undefined;
  /** Nodes whose last write failed because they had changed meanwhile. */
  readonly #outdated = new Set<string>();
  readonly #lost = new LostWrites();
  /** The turns under way, with the time at which each began, monotonic. */
  readonly #turns = new Map<Promise<void>, number>();
  readonly #seatsTaken = { urgent: 0, normal: 0, slow: 0 };
  #isFilling = false;
  /** The time that planning may take until the loop goes on. */
  #moment: Slices | undefined;
  #stopped = false;
  #wasUnreachable = false;

  constructor(options: WriteQueueOptions) {
    const { clock, random, registry, skipped } = options;
    this.#options = options;
    this.#metrics = createApplyMetrics(registry, {
      queueDepth: () => this.#queue.depth,
      writesInFlight: () => this.#gate.inFlight,
      skippedKeys: () => skipped.counts,
    });
    this.#slowNodes = new SlowNodes({
      clock,
      read: async (node, timeoutMs) => (await options.writer.read(node, { timeoutMs })) !== undefined,
    });
    this.#queue = new WorkQueue({
      clock,
      random,
      onReady: () => this.#fillSoon(),
      onTake: (waitedMs) => this.#metrics.observeQueueLatency(waitedMs / 1000),
      isSlow: (node) => this.#slowNodes.has(node),
    });
    this.#gate = new WriteGate({
      metrics: this.#metrics,
      clock,
      random,
      slowNodes: this.#slowNodes,
      isAwaited: (lane) => this.#queue.waitingIn(lane) > 0,
    });
    this.#turnDependencies = { ...options, gate: this.#gate, lost: this.#lost, metrics: this.#metrics };
  }

  /** Nothing is written before there is a handler. */
  serve(handler: WriteHandler<P>): void {
    this.#handler = handler;
  }

  /** Looks at a Node soon. Urgent is what may lead to a withdrawal. */
  add(nodeName: string, details?: WorkDetails): void {
    if (!this.#stopped) this.#queue.add(nodeName, details);
  }

  /** A newer version of a Node is known: a write that failed since its version was outdated waits no longer. */
  caughtUp(nodeName: string): void {
    if (this.#outdated.has(nodeName)) this.#queue.hasten(nodeName);
  }

  /** Forgets what is remembered of a Node that is gone. */
  forget(nodeName: string): void {
    this.#queue.forget(nodeName);
    this.#slowNodes.forget(nodeName);
    this.#lost.read(nodeName);
    this.#options.skipped.forget(nodeName);
  }

  /** No write begins any more; resolves when those under way have ended. For good. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#gate.close();
    this.#queue.clear();
    await Promise.all(this.#turns.keys());
  }

  /** How many Nodes wait to be looked at. */
  get waiting(): number {
    return this.#queue.depth;
  }

  /** How long the oldest work under way has taken, in milliseconds. Every write is bounded, and so it should be short. */
  busyMs(): number {
    const [oldest] = this.#turns.values();
    return oldest === undefined ? 0 : this.#options.clock.monotonic() - oldest;
  }

  /** What is added in one moment is planned as a whole. */
  #fillSoon(): void {
    if (this.#isFilling) return;
    this.#isFilling = true;
    queueMicrotask(() => {
      this.#isFilling = false;
      this.#fillSeats();
    });
  }

  #fillSeats(): void {
    for (const lane of ['urgent', 'normal', 'slow'] as const) this.#fill(lane);
  }

  /** A Node is planned once there is a slot for it, in the moment in which it is taken: one that changes before is looked at once. */
  #fill(lane: Lane): void {
    while (
      !this.#stopped &&
      this.#seatsTaken[lane] < SEATS[lane] &&
      this.#queue.waitingIn(lane) > 0 &&
      this.#hasTime()
    ) {
      const item = this.#queue.take(lane);
      if (!item) return;
      this.#seatsTaken[lane] += 1;
      const turn = this.#work(item).finally(() => {
        this.#seatsTaken[lane] -= 1;
        this.#turns.delete(turn);
        this.#queue.done(item.key);
        this.#fillSeats();
      });
      this.#turns.set(turn, this.#options.clock.monotonic());
    }
  }

  #hasTime(): boolean {
    const { clock } = this.#options;
    if (!this.#moment) {
      this.#moment = new Slices(clock);
      clock.after(0, () => {
        this.#moment = undefined;
        this.#fillSeats();
      });
    }
    return !this.#moment.isOver;
  }

  async #work(item: WorkItem): Promise<void> {
    const { key, priority, dirtySinceMs } = item;
    this.#outdated.delete(key);
    if (!this.#handler) return;
    const turn = new NodeTurn(item, this.#turnDependencies, this.#handler);
    const end = await turn.run().catch((error: unknown): TurnEnd => ({ kind: 'retry', error }));
    if (turn.wrote) {
      this.#queue.forget(key);
      if (dirtySinceMs !== undefined) {
        this.#metrics.observeEvidenceToApplied((this.#options.clock.monotonic() - dirtySinceMs) / 1000);
      }
    }
    this.#logReachability();
    // None of the others waits for a backoff that grew during the outage.
    for (const node of this.#lost.takeWaiting()) this.#queue.hasten(node);
    if (!this.#stopped) this.#schedule(key, end, { priority, dirtySinceMs: turn.wrote ? undefined : dirtySinceMs });
  }

  #schedule(key: string, end: TurnEnd, details: WorkDetails): void {
    switch (end.kind) {
      case 'again':
        this.#queue.add(key, { ...details, priority: end.priority });
        break;
      case 'later':
        this.#queue.addAfter(key, Math.min(RETRY_MAX_MS, end.delayMs), { ...details, priority: end.priority });
        break;
      case 'retry':
        this.#retry(key, end.error, details);
        break;
      case 'gone':
        this.forget(key);
        this.#queue.addAfter(key, GONE_RECHECK_MS);
        break;
      case 'dropped':
        this.#queue.forget(key);
        break;
      case 'holds':
        this.#queue.forget(key);
        this.#lookAgainInTime(key);
    }
  }

  #retry(key: string, err: unknown, details: WorkDetails): void {
    if (err === undefined) this.#outdated.add(key);
    const delayMs = Math.round(this.#queue.retry(key, details, this.#boundsOf(key, err)));
    const fields = { node: key, err, attempts: this.#queue.retries(key), delayMs };
    // The first failure is news; the others are the same again.
    if (err !== undefined && fields.attempts === 1) this.#options.logger.warn(fields, 'Failed to write a node');
    else this.#options.logger.debug(fields, 'Repeated the write of a node later');
  }

  /** Nodes that fail together are tried often enough to notice that one of them can be written again. */
  #boundsOf(key: string, err: unknown): { minMs?: number; maxMs: number } {
    if (err === undefined) return { maxMs: STALE_RETRY_MAX_MS };
    if (!mayBeServerFault(err)) return { maxMs: RETRY_MAX_MS };
    this.#lost.failed(key);
    const minMs = ((this.#lost.count - 1) * 1000) / FAILED_PER_SECOND;
    return { minMs, maxMs: Math.max(FAILED_RETRY_MAX_MS, minMs) };
  }

  /** What time alone makes worth another try is tried again, even if nothing else happens to the Node. */
  #lookAgainInTime(key: string): void {
    const soonestMs = this.#options.skipped.dueInMs(key);
    if (soonestMs !== undefined) this.#queue.addAfter(key, soonestMs);
  }

  #logReachability(): void {
    const { unreachable } = this.#gate;
    if (unreachable === this.#wasUnreachable) return;
    this.#wasUnreachable = unreachable;
    if (unreachable) this.#options.logger.warn('Lost the API server while writing; writes wait and are repeated');
    else this.#options.logger.info('Reached the API server again; writes go on');
  }
}

/** Whether the API server failed, or a webhook for some Nodes did: the answer, or its absence, does not tell which. */
function mayBeServerFault(error: unknown): boolean {
  return isTimeout(error) || (error instanceof KubeStatusError && error.status >= 500);
}
