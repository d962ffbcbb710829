import { Backoff } from '@rollcall/common/backoff.ts';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import { CodedError, hasCode } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { isSilence, type KubeClient, KubeStatusError } from './client.ts';
import { whyNotAbsent } from './discovery.ts';
import type { KubeMetrics } from './kube-metrics.ts';
import { acceptOf, listPages, type MetadataOnly, watchQuery } from './list-pages.ts';
import type { KubeObject } from './objects.ts';
import { classifyFailure, type ReflectorFailure, readWatchEvent } from './reflector-failure.ts';

export type ResourceEventHandler<T> = {
  /** A list is asked for: what is written from now on may be missing from it. */
  onListing?: () => void;
  /** All that there is; what was there before and is not among them has gone. */
  onReplace: (objects: T[]) => void;
  onUpsert: (object: T) => void;
  onDelete: (object: T) => void;
  /**
   * What was told may be old: a list or watch failed. The watch is not resumed, and `onReplace` is what comes next. For
   * a collection of which an old picture is worse than none.
   */
  onLost?: () => void;
  /** The right to list or watch was taken away: what is known grows old, and is listed anew. */
  onRefused?: () => void;
};

export type ReflectorOptions<T> = {
  client: KubeClient;
  /** The path of the collection, such as `/api/v1/nodes`; its last part names the resource in logs and metrics. */
  path: string;
  fieldSelector?: string;
  labelSelector?: string;
  /** Interval at which everything is listed anew, as a check of the watch. Defaults to never. */
  relistMs?: number;
  /** Asks for PartialObjectMetadata: objects without spec and status. `relist` after the answer has changed. */
  metadataOnly?: MetadataOnly;
  /** Defaults to 500. */
  pageSize?: number;
  /** Silence after which a watch is given up; bookmarks come every 60 to 120 s. Defaults to 150 s. */
  idleTimeoutMs?: number;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  signal: AbortSignal;
  logger: Logger;
  handlers: ResourceEventHandler<T>;
  /** Keeps of an object what is needed, before it is held in memory. */
  transform?: (raw: KubeObject) => T;
  /** For an optional CRD: a collection that exists in no version counts as empty. */
  absentIsEmpty?: boolean;
  /** When to try again after a refusal for want of rights, in milliseconds. Defaults to the pause after any other failure. */
  refusedRetryMs?: number;
  /** Contact was made again after at least one failed try; `outageMs` counts from the last contact before. */
  onRecovered?: (outageMs: number) => void;
  metrics?: Pick<KubeMetrics, 'watchEvent' | 'watchRestarted'>;
};

export type Reflector = {
  /** Lists and watches until the signal aborts; then resolves. Never throws. */
  run(): Promise<void>;
  /**
   * Gives up the watch, and lists everything anew at once, also where nothing was served; with `olderThanMs`, only if the
   * last list is older.
   */
  relist(olderThanMs?: number): void;
  /** Whether what the last `relist` asked for has come. */
  hasRelisted(): boolean;
  /** Whether `onReplace` was called at least once. */
  hasSynced(): boolean;
  /** Whether a first list has ended, well or not. */
  hasTried(): boolean;
  /** Whether the last try failed, so that what is known here may be old. */
  isFailing(): boolean;
  /** Whether the last try was refused for want of rights. */
  isRefused(): boolean;
  /** Milliseconds since anything came, be it a bookmark. */
  silentMs(): number;
  /** The position from which a watch would resume. */
  resourceVersion(): string | undefined;
};

const LIST_TIMEOUT_MS = 60_000;
const WATCH_SECONDS_MIN = 300;
const WATCH_SECONDS_MAX = 600;
/** A watch that ends sooner is not taken up at once, also where it delivered something: the next may end as soon. */
const SHORT_WATCH_MS = 1000;
/** A watch that lived so long, or delivered anything, proves that things go well again. */
const GOOD_WATCH_MS = 5000;
/** Pages that expire so often while they are read are too slow: then everything is read at once. */
const PAGING_TRIES = 2;

/** Keeps handlers up to date with a collection, by list and watch, through every failure. */
export function createReflector<T = KubeObject>(options: ReflectorOptions<T>): Reflector {
  return new ListWatch(options);
}

class ListWatch<T> implements Reflector {
  readonly #options: ReflectorOptions<T>;
  readonly #resource: string;
  readonly #selectors: Record<string, string>;
  readonly #backoff: Backoff;
  readonly #absentBackoff: Backoff;
  /** Each object as it was last read, by uid, for when it cannot be read any more. */
  readonly #known = new Map<string, T>();
  #position: string | undefined;
  #synced = false;
  #tried = false;
  #lastContact: number | undefined;
  #listedMs = 0;
  /** The current failure; `undefined` while all goes well. */
  #failing: ReflectorFailure | undefined;
  /** Ends the watch that is open. */
  #watching = new AbortController();
  /** Ends the pause before the next try. */
  #pause = new AbortController();
  /** How often a new list was asked for, and the last of these that was answered. */
  #relists = 0;
  #relisted = 0;
  #eventsOfWatch = 0;
  #expiredPagings = 0;
  /** The number of absences in a row. */
  #absences = 0;

  constructor(options: ReflectorOptions<T>) {
    const { fieldSelector, labelSelector, random } = options;
    this.#options = options;
    this.#resource = options.path.split('/').at(-1) ?? options.path;
    this.#selectors = { ...(fieldSelector ? { fieldSelector } : {}), ...(labelSelector ? { labelSelector } : {}) };
    this.#backoff = new Backoff({ baseMs: 500, maxMs: 5000, random });
    this.#absentBackoff = new Backoff({ baseMs: 10_000, maxMs: 30_000, random });
  }

  hasSynced(): boolean {
    return this.#synced;
  }

  hasTried(): boolean {
    return this.#tried;
  }

  isFailing(): boolean {
    return this.#failing !== undefined;
  }

  isRefused(): boolean {
    return this.#failing?.reason === 'refused';
  }

  silentMs(): number {
    const { clock } = this.#options;
    return this.#lastContact === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - this.#lastContact;
  }

  resourceVersion(): string | undefined {
    return this.#position;
  }

  relist(olderThanMs = 0): void {
    const isListed = this.#position !== undefined && this.hasRelisted();
    if (isListed && this.#options.clock.monotonic() - this.#listedMs < olderThanMs) return;
    this.#relists += 1;
    // An absence that was confirmed before needs only one further answer.
    this.#absences = Math.min(this.#absences, 1);
    this.#position = undefined;
    this.#watching.abort();
    this.#pause.abort();
  }

  hasRelisted(): boolean {
    return this.#relisted === this.#relists;
  }

  async run(): Promise<void> {
    const { signal, clock } = this.#options;
    while (!signal.aborted) {
      const delayMs = await this.#listOrWatch();
      this.#tried = true;
      if (delayMs <= 0) continue;
      this.#pause = new AbortController();
      await sleep(clock, delayMs, AbortSignal.any([signal, this.#pause.signal]));
    }
  }

  /** Does what is due, and returns how long to wait before the next. */
  async #listOrWatch(): Promise<number> {
    const relists = this.#relists;
    try {
      if (this.#position !== undefined) return await this.#watch(this.#position);
      await this.#list(relists);
      return 0;
    } catch (err) {
      return this.#options.signal.aborted ? 0 : await this.#afterFailure(err, relists);
    }
  }

  async #list(relists: number): Promise<void> {
    const { client, clock, signal, pageSize = 500, handlers } = this.#options;
    const objects: T[] = [];
    const uids = new Set<string>();
    let pages = 0;
    handlers.onListing?.();
    const request = {
      path: this.#options.path,
      selectors: this.#selectors,
      accept: acceptOf('PartialObjectMetadataList', this.#options.metadataOnly),
      pageSize: this.#expiredPagings < PAGING_TRIES ? pageSize : 0,
      timeoutMs: LIST_TIMEOUT_MS,
      signal,
    };
    try {
      const position = await listPages(client, request, (raw) => {
        pages += 1;
        this.#noteContact();
        for (const each of raw) {
          this.#read(each, (object) => {
            objects.push(object);
            uids.add(each.metadata.uid);
          });
        }
      });
      // Otherwise another list was asked for meanwhile.
      if (relists === this.#relists) this.#position = position;
    } catch (err) {
      if (pages > 0 && err instanceof KubeStatusError && err.status === 410) this.#expiredPagings += 1;
      throw err;
    }
    this.#listedMs = clock.monotonic();
    this.#expiredPagings = 0;
    this.#absences = 0;
    this.#absentBackoff.reset();
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
    try {
      handlers.onReplace(objects);
    } catch (cause) {
      throw new CodedError('KUBE_LIST_NOT_TAKEN', 'A list could not be taken in', { cause });
    }
    this.#synced = true;
    this.#relisted = relists;
  }

  async #watch(position: string): Promise<number> {
    const { client, clock, signal, random, idleTimeoutMs = 150_000, relistMs } = this.#options;
    const untilRelistMs =
      relistMs === undefined ? Number.POSITIVE_INFINITY : this.#listedMs + relistMs - clock.monotonic();
    if (untilRelistMs <= 0) {
      this.#position = undefined;
      return 0;
    }
    const spreadSeconds = WATCH_SECONDS_MIN + Math.floor(random() * (WATCH_SECONDS_MAX - WATCH_SECONDS_MIN));
    const seconds = Math.min(spreadSeconds, Math.ceil(untilRelistMs / 1000));
    const startedAt = clock.monotonic();
    this.#eventsOfWatch = 0;
    this.#watching = new AbortController();
    const ended = this.#watching.signal;
    let open = false;
    const request = {
      method: 'GET' as const,
      path: this.#options.path,
      query: watchQuery(this.#selectors, position, seconds),
      accept: acceptOf('PartialObjectMetadata', this.#options.metadataOnly),
      idleTimeoutMs,
      signal: AbortSignal.any([signal, ended]),
      onOpen: () => {
        open = true;
        this.#noteContact();
      },
    };
    try {
      await client.stream(request, (line) => this.#take(line));
    } catch (err) {
      if (ended.aborted) return 0;
      this.#resetBackoffAfter(clock.monotonic() - startedAt);
      if (isSilence(err)) return this.#afterSilence();
      if (open && hasCode(err, 'KUBE_UNREACHABLE')) return this.#afterCut(err);
      throw err;
    }
    if (signal.aborted || ended.aborted) return 0;
    this.#noteContact();
    const livedMs = clock.monotonic() - startedAt;
    this.#resetBackoffAfter(livedMs);
    this.#options.metrics?.watchRestarted(this.#resource, 'ended');
    return livedMs < SHORT_WATCH_MS ? this.#backoff.next() : 0;
  }

  #take(line: unknown): void {
    const { handlers, metrics } = this.#options;
    const event = readWatchEvent(line);
    this.#noteContact();
    this.#eventsOfWatch += 1;
    metrics?.watchEvent(this.#resource);
    if (event.type !== 'BOOKMARK') {
      this.#read(event.object, (object) =>
        this.#guarded(() => (event.type === 'DELETED' ? handlers.onDelete(object) : handlers.onUpsert(object))),
      );
      if (event.type === 'DELETED') this.#known.delete(event.object.metadata.uid);
    }
    this.#position = event.object.metadata.resourceVersion;
  }

  /**
   * A watch that was silent to its end, without even a bookmark, may wait for a future that never comes: an etcd that
   * was restored from a backup counts from an older revision. A list tells.
   */
  #afterSilence(): number {
    if (this.#eventsOfWatch === 0) this.#position = undefined;
    this.#options.metrics?.watchRestarted(this.#resource, 'silent');
    return 0;
  }

  /** Handles a lost connection, which is not yet a failure: most watches resume at once. */
  #afterCut(err: CodedError): number {
    const { logger, metrics } = this.#options;
    // A reset is a message from the other end, or its kernel; a time-out is none.
    if (err.cause instanceof Error && 'code' in err.cause && err.cause.code === 'ECONNRESET') this.#noteContact();
    metrics?.watchRestarted(this.#resource, 'cut');
    logger.debug({ resource: this.#resource, err }, 'Lost the connection of a watch');
    return this.#backoff.next();
  }

  async #afterFailure(err: unknown, relistsWhenAsked: number): Promise<number> {
    const { logger, metrics } = this.#options;
    const failure = classifyFailure(err, this.#resource);
    if (this.#position !== undefined) metrics?.watchRestarted(this.#resource, failure.reason);
    // A garbled answer may be an accident; after two without progress, list everything anew.
    if (failure.relist || (failure.reason === 'garbled' && this.#backoff.attempts > 0)) this.#position = undefined;
    if (failure.reason === 'absent' && this.#options.absentIsEmpty) return this.#afterAbsence(err, relistsWhenAsked);
    if (failure.reason !== 'expired') this.#noteFailure(failure, err);
    else logger.info({ resource: this.#resource, err }, 'Lost the history of a watch');
    const refusedMs = failure.reason === 'refused' ? (this.#options.refusedRetryMs ?? 0) : 0;
    return Math.max(this.#backoff.next(), failure.retryAfterMs, refusedMs);
  }

  /** A single 404 may come from an API server that has just started; it takes two to say that nothing is there. */
  async #afterAbsence(err: unknown, relistsWhenAsked: number): Promise<number> {
    const { client, path, clock, signal } = this.#options;
    this.#lastContact = clock.monotonic();
    const failure = this.#absences === 0 ? undefined : await whyNotAbsent(client, path, signal);
    // It may be served by now, which may be why a new list was asked for meanwhile.
    if (signal.aborted || relistsWhenAsked !== this.#relists) return 0;
    if (failure) this.#noteFailure(failure, err);
    else this.#absences += 1;
    if (this.#absences < 2) return Math.max(this.#backoff.next(), failure?.retryAfterMs ?? 0);
    this.#noteContact();
    this.#backoff.reset();
    if (this.#absences === 2) {
      this.#options.logger.info({ resource: this.#resource }, 'Resource not served; treating it as empty');
      this.#known.clear();
      this.#guarded(() => this.#options.handlers.onReplace([]));
      this.#synced = true;
      this.#relisted = this.#relists;
    }
    return this.#absentBackoff.next();
  }

  #noteFailure(failure: ReflectorFailure, err: unknown): void {
    const { onLost, onRefused } = this.#options.handlers;
    // After a loss, report again which resources are not served.
    this.#absences = 0;
    const lose = failure.reason === 'refused' ? (onLost ?? onRefused) : onLost;
    if (lose) {
      this.#position = undefined;
      this.#guarded(lose);
    }
    const before = this.#failing;
    this.#failing = failure;
    if (before?.kind === failure.kind) return;
    this.#options.logger.warn({ resource: this.#resource, err, hint: failure.hint }, 'Failed to list or watch');
  }

  #noteContact(): void {
    const { clock, logger, onRecovered } = this.#options;
    const now = clock.monotonic();
    const before = this.#lastContact;
    this.#lastContact = now;
    if (this.#failing === undefined) return;
    this.#failing = undefined;
    const outageMs = Math.round(now - (before ?? now));
    logger.info({ resource: this.#resource, outageMs }, 'Recovered the list or watch');
    if (this.#synced) this.#guarded(() => onRecovered?.(outageMs));
  }

  #resetBackoffAfter(livedMs: number): void {
    if (this.#eventsOfWatch > 0 || livedMs >= GOOD_WATCH_MS) this.#backoff.reset();
  }

  /** Hands on what is kept of an object: where it cannot be read any more, what was kept of it before, if anything. */
  #read(raw: KubeObject, take: (object: T) => void): void {
    const { transform } = this.#options;
    // Without a transform, reading cannot fail and nothing has to be kept.
    if (!transform) return void take(raw as T);
    const { uid } = raw.metadata;
    this.#guarded(() => this.#known.set(uid, transform(raw)));
    // What is kept may be nothing at all.
    if (this.#known.has(uid)) take(this.#known.get(uid) as T);
  }

  /** One object that a handler chokes on must not keep the others from being seen. */
  #guarded(handle: () => void): void {
    try {
      handle();
    } catch (err) {
      this.#options.logger.error({ resource: this.#resource, err }, 'Failed to take in an object');
    }
  }
}
