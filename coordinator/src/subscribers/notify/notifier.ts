import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import { createNotifyMetrics, type NotifyMetrics } from './metrics.ts';
import { type NotifiedNode, Outbox, SEATS } from './outbox.ts';
import { Poster, type PostOutcome } from './poster.ts';

export type NotifierOptions = {
  url: URL;
  /** The place of the URL in the configuration, from 0. */
  index: number;
  /** Names of the nodes of which it tells; empty for all. */
  nodes: readonly string[];
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  logger: Logger;
  metrics: NotifyMetrics;
  /** The URL does not take what it is told, for the first time since it did; a sentence for people. */
  onFailing: (message: string) => void;
  signal: AbortSignal;
};

type Term = { outbox: Outbox; controller: AbortController };

/** Tells one URL of what changes about nodes, until it has taken it. Ends with its signal. */
export class Notifier {
  readonly #options: NotifierOptions;
  readonly #nodes: ReadonlySet<string>;
  #term: Term;
  #failing = false;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#nodes = new Set(options.nodes);
    this.#term = this.#newTerm();
    options.signal.addEventListener('abort', () => this.#term.controller.abort(), { once: true });
  }

  /** How many nodes have changes that the URL has not taken yet. */
  get pending(): number {
    return this.#term.outbox.pending;
  }

  /**
   * Records the node's state, and returns at once; does nothing if the records are the same as last time. They are kept
   * by reference, and must not change. Only the leader may call it.
   */
  offer(node: NotifiedNode): void {
    if (this.#nodes.size === 0 || this.#nodes.has(node.name)) this.#term.outbox.offer(node);
  }

  /** The Node is no more: it is forgotten, without a message. */
  gone(name: string): void {
    this.#term.outbox.gone(name);
  }

  /** Forgets everything and stops what is under way, as when another replica leads. What is offered later is new. */
  clear(): void {
    this.#term.controller.abort();
    if (!this.#options.signal.aborted) this.#term = this.#newTerm();
  }

  #newTerm(): Term {
    const { url, clock, random, signal: ended } = this.#options;
    const controller = new AbortController();
    if (ended.aborted) controller.abort();
    const { signal } = controller;
    const poster = new Poster({ url, maxSockets: SEATS, clock });
    signal.addEventListener('abort', () => poster.close(), { once: true });
    this.#failing = false;
    const outbox = new Outbox({
      post: (change, until) => poster.post(change, until),
      onOutcome: (outcome, allWell) => this.#note(outcome, allWell),
      clock,
      random,
      signal,
    });
    return { outbox, controller };
  }

  #note(outcome: PostOutcome, allWell: boolean): void {
    const { url, index, logger, metrics, onFailing } = this.#options;
    const isTaken = outcome.taken === 'yes';
    metrics.count(index, isTaken ? 'delivered' : 'failed');
    // Path and query may hold a secret.
    const fields = { notifier: index, url: url.origin };
    if (!isTaken && !this.#failing) {
      logger.warn({ ...fields, err: outcome.error }, 'Failed to deliver a notification');
      onFailing(`${url.origin} does not accept notifications: ${outcome.error.message}`);
    }
    if (isTaken && this.#failing && allWell) logger.info(fields, 'Delivered notifications again');
    this.#failing = !isTaken || (this.#failing && !allWell);
  }
}

export type NotifiersOptions = Omit<NotifierOptions, 'url' | 'index' | 'metrics'> & {
  urls: readonly URL[];
  registry: Registry;
};

/** One notifier for each URL, none of which knows of the others. Registers their metrics; once for a registry. */
export function createNotifiers({ urls, registry, ...options }: NotifiersOptions): readonly Notifier[] {
  const notifiers: Notifier[] = [];
  const metrics = createNotifyMetrics(registry, () => notifiers.map(({ pending }) => pending));
  for (const [index, url] of urls.entries()) notifiers.push(new Notifier({ ...options, url, index, metrics }));
  return notifiers;
}
