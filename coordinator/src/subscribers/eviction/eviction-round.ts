import { Backoff } from '@rollcall/common/backoff.ts';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import { describeError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { TokenBucket } from '@rollcall/common/token-bucket.ts';
import { collectionPath, WATCHED } from '@rollcall/common/watched-resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listPages } from '../../kube/list-pages.ts';
import type { Pod } from '../../kube/objects.ts';
import type { EventNews, EventSubject } from '../events/event-object.ts';
import { type EvictionOutcome, evictPod } from './evict-pod.ts';
import type { EvictionMetrics } from './metrics.ts';
import { labelsMissedBy, type NodeState } from './misplaced-pods.ts';

export type RoundDependencies = {
  /** Reads the pods of a node. */
  client: Pick<KubeClient, 'request'>;
  requests: Pick<KubeClient, 'request'>;
  clock: Clock;
  signal: AbortSignal;
  logger: Logger;
  budget: TokenBucket;
  metrics: EvictionMetrics;
  record: (news: EventNews) => void;
  /** `undefined` as soon as nothing is to be evicted from the node, or nothing may be. */
  stateOf: (node: string) => NodeState | undefined;
  dryRun: boolean;
};

type EvictionAttempt = { pod: Pod; waiting: WaitingPod; labels: string[] };

const PAGE_SIZE = 500;
const LIST_TIMEOUT_MS = 30_000;
const EVICTION_TIMEOUT_MS = 10_000;
/** A refusal costs no part of what may be evicted, but the API server has to work for it. */
const REFUSAL_PAUSE_MS = 100;
/** Until a pod that was gone, or another one, is looked for again. */
const GONE_RECHECK_MS = 1000;

/** One look at the pods of a node, and the evictions that are due and within the budget. */
export class EvictionRound {
  readonly #node: string;
  readonly #pods: WaitingPods;
  readonly #deps: RoundDependencies;

  constructor(node: string, pods: WaitingPods, dependencies: RoundDependencies) {
    this.#node = node;
    this.#pods = pods;
    this.#deps = dependencies;
  }

  /** Leaves in the pods that wait those that are still to go. Throws when the API server takes nothing now. */
  async run(): Promise<void> {
    const { clock, budget, dryRun } = this.#deps;
    const misplaced = await this.#misplacedPods();
    this.#pods.keep(misplaced.map(({ metadata }) => metadata.uid));
    for (const pod of misplaced) {
      const waiting = this.#pods.get(pod.metadata.uid);
      if (!waiting || waiting.dueMs > clock.monotonic()) continue;
      const labels = this.#missedBy(pod);
      if (labels.length === 0) this.#pods.delete(pod.metadata.uid);
      else if (dryRun) this.#pretend({ pod, waiting, labels });
      else if (budget.take(clock.monotonic())) await this.#evict({ pod, waiting, labels });
      else return;
    }
  }

  async #misplacedPods(): Promise<Pod[]> {
    const { client, signal } = this.#deps;
    const misplaced: Pod[] = [];
    await listPages(
      client,
      {
        path: collectionPath(WATCHED.pods),
        selectors: { fieldSelector: `spec.nodeName=${this.#node}` },
        accept: 'application/json',
        pageSize: PAGE_SIZE,
        timeoutMs: LIST_TIMEOUT_MS,
        signal,
      },
      (page) => misplaced.push(...(page as Pod[]).filter((pod) => this.#missedBy(pod).length > 0)),
    );
    return misplaced;
  }

  /** Returns the labels that the pod misses on the node as it is now. */
  #missedBy(pod: Pod): string[] {
    const state = this.#deps.stateOf(this.#node);
    return state ? labelsMissedBy(pod, this.#node, state) : [];
  }

  async #evict(attempt: EvictionAttempt): Promise<void> {
    const { requests, clock, signal, budget, metrics, logger, record } = this.#deps;
    const { pod, labels } = attempt;
    const outcome = await evictPod(requests, pod, EVICTION_TIMEOUT_MS);
    metrics.countEviction(outcome.kind);
    if (outcome.kind === 'evicted') {
      this.#pods.delete(pod.metadata.uid);
      logger.info({ node: this.#node, pod: fullName(pod), labels }, 'Evicted a pod');
      record(evictedNews(pod, this.#node, labels));
      return;
    }
    // One without an answer may have been carried out, and what it took from the budget is spent.
    if (outcome.kind === 'failed' && !outcome.ofPod) throw outcome.error;
    budget.giveBack();
    if (outcome.kind === 'gone') attempt.waiting.dueMs = clock.monotonic() + GONE_RECHECK_MS;
    else this.#postpone(attempt, outcome);
    await sleep(clock, REFUSAL_PAUSE_MS, signal);
  }

  #postpone(
    { pod, waiting, labels }: EvictionAttempt,
    outcome: Extract<EvictionOutcome, { retryAfterMs: number }>,
  ): void {
    const { clock, logger, record } = this.#deps;
    const backoff = outcome.kind === 'blocked' ? waiting.blocked : waiting.failed;
    const delayMs = Math.max(backoff.next(), outcome.retryAfterMs);
    waiting.dueMs = clock.monotonic() + delayMs;
    const why = outcome.kind === 'blocked' ? { reason: outcome.message } : { err: outcome.error };
    const fields = { node: this.#node, pod: fullName(pod), labels, ...why, delayMs: Math.round(delayMs) };
    if (waiting.isReported) {
      logger.debug(fields, 'Failed again to evict a pod');
      return;
    }
    waiting.isReported = true;
    logger.warn(fields, 'Failed to evict a pod; it is tried until it goes');
    record(refusedNews(pod, this.#node, labels, outcome));
  }

  #pretend({ pod, waiting, labels }: EvictionAttempt): void {
    if (waiting.isReported) return;
    waiting.isReported = true;
    this.#deps.logger.info({ node: this.#node, pod: fullName(pod), labels }, 'Would evict a pod');
  }
}

function fullName({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** Events stand on the pod: it is its owner who has to know, and the pod's own Events outlive it by an hour. */
function evictedNews(pod: Pod, node: string, labels: readonly string[]): EventNews {
  const message = `Evicted, because ${node} lost labels that this pod requires: ${labels.join(', ')}`;
  return { subject: subjectOf(pod), type: 'Normal', reason: 'EvictedLabelRemoved', message };
}

/** Recorded once for a pod: it is tried again for as long as it takes. */
function refusedNews(
  pod: Pod,
  node: string,
  labels: readonly string[],
  outcome: Extract<EvictionOutcome, { kind: 'blocked' | 'failed' }>,
): EventNews {
  const why = outcome.kind === 'blocked' ? outcome.message : describeError(outcome.error);
  const message = `Not evicted yet, although ${node} lost labels that this pod requires: ${labels.join(', ')}; ${why}`;
  return { subject: subjectOf(pod), type: 'Warning', reason: 'EvictionRefused', message };
}

function subjectOf({ metadata: { name, namespace = '', uid } }: Pod): EventSubject {
  return { apiVersion: 'v1', kind: 'Pod', name, namespace, uid };
}

/** A pod that is to be evicted, and when it may be tried again. Times are monotonic. */
export type WaitingPod = {
  dueMs: number;
  /** Whether people were told that it cannot be evicted. */
  isReported: boolean;
  readonly blocked: Backoff;
  readonly failed: Backoff;
};

/** A budget opens when another pod has become ready elsewhere, which takes a while. */
const BLOCKED_BASE_MS = 20_000;
const BLOCKED_MAX_MS = 30_000;
const FAILED_BASE_MS = 1000;
const FAILED_MAX_MS = 60_000;

/** What is remembered of a node that lost labels. */
export class WaitingPods {
  readonly #pods = new Map<string, WaitingPod>();
  readonly #random: () => number;
  /** The backoff of the node as a whole: it could not be listed, or the API server takes nothing now. */
  readonly backoff: Backoff;
  looked: { state: NodeState; atMs: number } | undefined;

  constructor(random: () => number) {
    this.#random = random;
    this.backoff = new Backoff({ baseMs: FAILED_BASE_MS, maxMs: BLOCKED_MAX_MS, random });
  }

  get size(): number {
    return this.#pods.size;
  }

  /** These wait, and no others; those that did already keep their times. */
  keep(uids: readonly string[]): void {
    const kept = new Set(uids);
    for (const uid of this.#pods.keys()) if (!kept.has(uid)) this.#pods.delete(uid);
    const random = this.#random;
    for (const uid of kept) {
      if (this.#pods.has(uid)) continue;
      const blocked = new Backoff({ baseMs: BLOCKED_BASE_MS, maxMs: BLOCKED_MAX_MS, random });
      const failed = new Backoff({ baseMs: FAILED_BASE_MS, maxMs: FAILED_MAX_MS, random });
      this.#pods.set(uid, { dueMs: 0, isReported: false, blocked, failed });
    }
  }

  get(uid: string): WaitingPod | undefined {
    return this.#pods.get(uid);
  }

  delete(uid: string): void {
    this.#pods.delete(uid);
  }

  /** When the first of them is due; `undefined` when none waits. */
  nextDueMs(): number | undefined {
    if (this.#pods.size === 0) return undefined;
    return Math.min(...[...this.#pods.values()].map(({ dueMs }) => dueMs));
  }
}
