import type { Clock } from '@rollcall/common/clock.ts';
import { TokenBucket } from '@rollcall/common/token-bucket.ts';

/** The part of a connection that is used. */
export type LimitedSocket = { destroy: () => unknown; readonly destroyed: boolean; readonly bytesRead: number };

export type ConnectionLimiterOptions<S extends LimitedSocket> = {
  /** Starts to read from a connection: the TLS handshake, or HTTP. */
  begin: (socket: S) => void;
  clock: Clock;
  limits?: Partial<ConnectionLimits>;
  /** A connection was closed for one of these reasons. */
  onClosed?: (reason: ClosedReason) => void;
};

export type ConnectionLimits = {
  /** Connections of clients that were not accepted that are read from. */
  unauthenticatedMax: number;
  /** Connections that wait until they are read from; one more is closed. */
  waitingMax: number;
  /** Connections that begin in a second: a handshake takes most of a millisecond. */
  beginsPerSecond: number;
  /** From the beginning to the head of the first request. */
  firstRequestMs: number;
  /** From an answer to the next request, until the client was accepted. */
  idleMs: number;
  /** A stranger that is older makes room for another. */
  settledMs: number;
  /** Answers other than 200, one after the other, before the connection is closed. */
  refusalsMax: number;
  /** Connections of one accepted client. Beyond them, the one that was idle for longest is closed. */
  perClientMax: number;
};

export type ClosedReason = 'no request' | 'idle' | 'full' | 'waited' | 'queue full' | 'pod' | 'no progress';

const LIMITS: ConnectionLimits = {
  unauthenticatedMax: 1024,
  waitingMax: 1024,
  beginsPerSecond: 400,
  firstRequestMs: 10_000,
  idleMs: 5_000,
  settledMs: 2_000,
  refusalsMax: 3,
  perClientMax: 4,
};

/** More than the server itself gives a request and the API server a question. */
const REQUEST_MS = 20_000;
/** An agent gives up after 5 s. */
const WAITED_MS = 5_000;
const SWEEP_MS = 250;
/** While there are strangers. */
const SWEEP_UNAUTHENTICATED_MS = 20;
/** Bytes beyond {@link OVERHEAD} times the content: two TLS records, or a handshake with the certificates of a client. */
const EMPTY_BYTES_MAX = 32 * 1024;
/** A record of TLS adds 22 bytes to its content. */
const OVERHEAD = 4;
/** So many bytes without content cost as much as the beginning of a connection. */
const BEGIN_BYTES = 2048;
/** New keys that a client of TLS may choose on a connection; no client that is at work gets to the first in a year. */
const KEY_UPDATES_MAX = 8;
/** Connections that may exceed that. Each holds the loop for some 6 ms, for as many as one read brings. */
const EXCESSES = { burst: 8, intervalMs: 250 };
/** From the end of a handshake to the answer to an honest client takes less. */
const PROMPT_MS = 100;

/** How a request was answered: with 200, with a refusal of its token (401, 403), or with anything else. */
export type Outcome = 'accepted' | 'unauthenticated' | 'refused';

type ConnectionSlot<S> = {
  socket: S;
  beganMs: number;
  untilMs: number;
  hasAsked: boolean;
  /** Refusals in a row. */
  refusals: number;
  /** Who was accepted, such as the uid of the pod whose token it is. */
  client: string | undefined;
  /** Whose bytes are content: the TLS socket, once its handshake is done, or the connection itself without TLS. */
  content: { readonly bytesRead: number } | undefined;
  /** As seen last. */
  bytes: number;
  contentBytes: number;
  /** Bytes that brought no content. */
  emptyBytes: number;
  /** When the handshake was done. */
  securedMs: number;
  keyUpdates: number;
};

/**
 * Limits the connections to a listener. *Strangers*, whose client was not accepted yet, are few. If all their slots are
 * taken, strangers that had their chance make room, the oldest first; if there are none, the others wait without being
 * read from. A connection whose bytes bring no content is closed, and costs beginnings.
 * A connection of an accepted client takes no slot of a stranger, and is never closed for one. Addresses do not count,
 * since all connections through a proxy have the same.
 */
export class ConnectionLimiter<S extends LimitedSocket> {
  readonly #options: ConnectionLimiterOptions<S>;
  readonly #limits: ConnectionLimits;
  readonly #waiting = new Map<S, number>();
  /** The oldest first. */
  readonly #unauthenticated = new Map<S, ConnectionSlot<S>>();
  readonly #known = new Map<S, ConnectionSlot<S>>();
  /** The connections of each accepted client, the longest idle first. */
  readonly #byClient = new Map<string, Set<S>>();
  readonly #begins: TokenBucket;
  readonly #excesses = new TokenBucket(EXCESSES);
  #knownSeenMs = 0;
  #cancelSweep: (() => void) | undefined;

  constructor(options: ConnectionLimiterOptions<S>) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    const { beginsPerSecond } = this.#limits;
    this.#begins = new TokenBucket({ burst: beginsPerSecond, intervalMs: 1000 / beginsPerSecond });
  }

  get counts(): { waiting: number; unauthenticated: number; known: number } {
    return { waiting: this.#waiting.size, unauthenticated: this.#unauthenticated.size, known: this.#known.size };
  }

  /** A new connection, of which nothing was read yet. */
  arrived(socket: S): void {
    if (this.#waiting.size >= this.#limits.waitingMax) {
      this.#close(socket, 'queue full');
      return;
    }
    this.#waiting.set(socket, this.#options.clock.monotonic());
    this.#letIn();
    this.#sweepLater();
  }

  /** From now on, the bytes of `content` are what the connection brings. */
  secured(socket: S, content: { readonly bytesRead: number }): void {
    const place = this.#placeOf(socket);
    if (place) Object.assign(place, { content, securedMs: this.#options.clock.monotonic() });
  }

  /** The head of a request came. Whether its answer is to be the last on this connection. */
  asked(socket: S): { isLast: boolean } {
    const place = this.#placeOf(socket);
    if (!place) return { isLast: true };
    this.#use(socket, place);
    place.hasAsked = true;
    place.untilMs = this.#options.clock.monotonic() + REQUEST_MS;
    return { isLast: place.refusals >= this.#limits.refusalsMax - 1 };
  }

  /** The client of a connection was accepted. */
  accepted(socket: S, client: string): void {
    const place = this.#unauthenticated.get(socket);
    if (!place) return;
    place.client = client;
    this.#unauthenticated.delete(socket);
    this.#known.set(socket, place);
    const sockets = this.#byClient.get(client) ?? new Set();
    this.#byClient.set(client, sockets.add(socket));
    const [longestIdle] = sockets;
    if (sockets.size > this.#limits.perClientMax && longestIdle) this.#close(longestIdle, 'pod');
    this.#letIn();
  }

  answered(socket: S, outcome: Outcome): void {
    const place = this.#placeOf(socket);
    if (!place) return;
    place.untilMs = this.#options.clock.monotonic() + this.#limits.idleMs;
    place.refusals = outcome === 'accepted' ? 0 : place.refusals + 1;
    this.#use(socket, place);
    if (outcome !== 'unauthenticated' || place.client === undefined) return;
    this.#forget(socket);
    this.#unauthenticated.set(socket, { ...place, client: undefined });
    this.#sweepLater();
  }

  /**
   * The client of a connection chose a new key, which costs more than a report. Where many connections do so again and
   * again, others may be about to: strangers that could have asked by now are closed before they are read from.
   */
  keyUpdated(socket: S): void {
    const place = this.#placeOf(socket);
    if (!place) return;
    place.keyUpdates += 1;
    if (place.keyUpdates <= KEY_UPDATES_MAX) return;
    this.#close(socket, 'no progress');
    const nowMs = this.#options.clock.monotonic();
    if (this.#excesses.take(nowMs)) return;
    for (const { socket: other, securedMs } of this.#unauthenticated.values())
      if (nowMs - securedMs >= PROMPT_MS) this.#close(other, 'no progress');
  }

  /** The connection is closed, by whomever. */
  gone(socket: S): void {
    this.#charge(socket);
    this.#forget(socket);
    this.#letIn();
  }

  /** Closes whatever nothing was asked on. */
  stop(): void {
    const silent = [...this.#unauthenticated.values()].filter(({ hasAsked }) => !hasAsked);
    for (const socket of [...this.#waiting.keys(), ...silent.map(({ socket }) => socket)]) {
      this.#forget(socket);
      socket.destroy();
    }
  }

  #placeOf(socket: S): ConnectionSlot<S> | undefined {
    return this.#unauthenticated.get(socket) ?? this.#known.get(socket);
  }

  /** The connection of a client that was used last is the last. */
  #use(socket: S, { client }: ConnectionSlot<S>): void {
    const sockets = client === undefined ? undefined : this.#byClient.get(client);
    if (sockets?.delete(socket)) sockets.add(socket);
  }

  #forget(socket: S): void {
    const client = this.#known.get(socket)?.client;
    const ofClient = client === undefined ? undefined : this.#byClient.get(client);
    ofClient?.delete(socket);
    if (client !== undefined && ofClient?.size === 0) this.#byClient.delete(client);
    this.#known.delete(socket);
    this.#unauthenticated.delete(socket);
    this.#waiting.delete(socket);
  }

  #letIn(): void {
    const { clock, begin } = this.#options;
    const nowMs = clock.monotonic();
    for (const socket of this.#waiting.keys()) {
      if (socket.destroyed) {
        this.#waiting.delete(socket);
        continue;
      }
      if (this.#begins.waitMs(nowMs) > 0 || !this.#hasRoom(nowMs)) return;
      this.#waiting.delete(socket);
      const { firstRequestMs } = this.#limits;
      const untilMs = nowMs + firstRequestMs;
      const counts = { refusals: 0, bytes: 0, contentBytes: 0, emptyBytes: 0, keyUpdates: 0 };
      const times = { beganMs: nowMs, untilMs, securedMs: Number.POSITIVE_INFINITY };
      const place = { socket, hasAsked: false, client: undefined, content: undefined };
      this.#unauthenticated.set(socket, { ...place, ...times, ...counts });
      this.#begins.take(nowMs);
      begin(socket);
    }
  }

  #hasRoom(nowMs: number): boolean {
    const { unauthenticatedMax, settledMs } = this.#limits;
    if (this.#unauthenticated.size < unauthenticatedMax) return true;
    const [oldest] = this.#unauthenticated.values();
    if (!oldest || nowMs - oldest.beganMs < settledMs) return false;
    this.#close(oldest.socket, 'full');
    return true;
  }

  #sweepLater(): void {
    if (this.#cancelSweep) return;
    const intervalMs = this.#waiting.size + this.#unauthenticated.size > 0 ? SWEEP_UNAUTHENTICATED_MS : SWEEP_MS;
    this.#cancelSweep = this.#options.clock.after(intervalMs, () => {
      this.#cancelSweep = undefined;
      this.#sweep();
      if (this.#waiting.size + this.#unauthenticated.size + this.#known.size > 0) this.#sweepLater();
    });
  }

  #sweep(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const [socket, sinceMs] of this.#waiting) {
      if (nowMs - sinceMs < WAITED_MS) break;
      this.#close(socket, 'waited');
    }
    for (const place of this.#unauthenticated.values()) {
      if (nowMs >= place.untilMs) this.#close(place.socket, place.hasAsked ? 'idle' : 'no request');
      else this.#checkProgress(place);
    }
    if (nowMs - this.#knownSeenMs >= SWEEP_MS) {
      this.#knownSeenMs = nowMs;
      for (const place of this.#known.values()) this.#checkProgress(place);
    }
    this.#letIn();
  }

  #checkProgress(place: ConnectionSlot<S>): void {
    count(place);
    if (place.emptyBytes > EMPTY_BYTES_MAX) this.#close(place.socket, 'no progress');
  }

  /** What brought nothing is paid by those who come next, so that no attacker gets more by coming again. */
  #charge(socket: S): void {
    const place = this.#placeOf(socket);
    // Before its handshake is done, its beginning covers what it costs.
    if (!place?.content) return;
    count(place);
    const bytes = Math.min(place.emptyBytes, EMPTY_BYTES_MAX);
    this.#begins.charge(this.#options.clock.monotonic(), bytes / BEGIN_BYTES);
  }

  #close(socket: S, reason: ClosedReason): void {
    this.#charge(socket);
    this.#forget(socket);
    this.#options.onClosed?.(reason);
    socket.destroy();
  }
}

function count(place: ConnectionSlot<LimitedSocket>): void {
  const { bytesRead } = place.socket;
  const contentBytes = place.content?.bytesRead ?? 0;
  const content = OVERHEAD * (contentBytes - place.contentBytes);
  place.emptyBytes = Math.max(0, place.emptyBytes + bytesRead - place.bytes - content);
  place.bytes = bytesRead;
  place.contentBytes = contentBytes;
}
