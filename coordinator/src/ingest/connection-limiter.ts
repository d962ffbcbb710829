import type { Clock } from '@rollcall/common/clock.ts';

/** The part of a connection that is used. */
export type LimitedSocket = { destroy: () => unknown; readonly destroyed: boolean };

export type ConnectionLimiterOptions<S extends LimitedSocket> = {
  /** Starts to read from a connection: the TLS handshake, or HTTP. */
  begin: (socket: S) => void;
  clock: Clock;
  limits?: Partial<ConnectionLimits>;
  /** A connection was closed for one of these reasons. */
  onClosed?: (reason: ClosedReason) => void;
};

export type ConnectionLimits = {
  /** Connections without an accepted token that are read from. */
  strangersMax: number;
  /** Connections that wait until they are read from; one more is closed. */
  waitingMax: number;
  /** Connections that begin in a second: a handshake takes most of a millisecond. */
  beginsPerSecond: number;
  /** From the beginning to the head of the first request. */
  firstRequestMs: number;
  /** From an answer to the next request, until a token was accepted. */
  idleMs: number;
  /** A stranger that is older makes room for another. */
  settledMs: number;
  /** Answers other than 200, one after the other, before the connection is closed. */
  refusalsMax: number;
  /** Connections of one pod whose token was accepted. */
  perPodMax: number;
};

export type ClosedReason = 'no request' | 'idle' | 'full' | 'waited' | 'queue full' | 'pod';

const LIMITS: ConnectionLimits = {
  strangersMax: 1024,
  waitingMax: 1024,
  beginsPerSecond: 400,
  firstRequestMs: 10_000,
  idleMs: 5_000,
  settledMs: 2_000,
  refusalsMax: 3,
  perPodMax: 4,
};

/** More than the server itself gives a request and the API server a question. */
const REQUEST_MS = 20_000;
/** An agent gives up after 5 s. */
const WAITED_MS = 5_000;
const SWEEP_MS = 250;

/** How a request was answered: with 200, with a refusal of its token (401, 403), or with anything else. */
export type Outcome = 'accepted' | 'unauthenticated' | 'refused';

type ConnectionSlot<S> = {
  socket: S;
  beganMs: number;
  untilMs: number;
  hasAsked: boolean;
  /** Refusals in a row. */
  refusals: number;
  /** The uid of the pod whose token was accepted. */
  pod: string | undefined;
};

/**
 * Limits the connections to the listener for reports. *Strangers*, without an accepted token yet, are few and get
 * little time. If all their slots are taken, strangers that had their chance make room, the oldest first; if there are
 * none, the others wait without being read from.
 * A connection with an accepted token takes no slot of a stranger, and is never closed for one. Addresses do not count,
 * since all connections through a proxy have the same.
 */
export class ConnectionLimiter<S extends LimitedSocket> {
  readonly #options: ConnectionLimiterOptions<S>;
  readonly #limits: ConnectionLimits;
  readonly #waiting = new Map<S, number>();
  /** The oldest first. */
  readonly #strangers = new Map<S, ConnectionSlot<S>>();
  readonly #known = new Map<S, ConnectionSlot<S>>();
  readonly #byPod = new Map<string, Set<S>>();
  /** When the bucket of beginnings is full again. */
  #beginsFullAtMs = Number.NEGATIVE_INFINITY;
  #cancelSweep: (() => void) | undefined;

  constructor(options: ConnectionLimiterOptions<S>) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  get counts(): { waiting: number; strangers: number; known: number } {
    return { waiting: this.#waiting.size, strangers: this.#strangers.size, known: this.#known.size };
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

  /** The head of a request came. Whether its answer is to be the last on this connection. */
  asked(socket: S): { isLast: boolean } {
    const place = this.#placeOf(socket);
    if (!place) return { isLast: true };
    place.hasAsked = true;
    place.untilMs = this.#options.clock.monotonic() + REQUEST_MS;
    return { isLast: place.refusals >= this.#limits.refusalsMax - 1 };
  }

  /** A token of this pod was accepted. */
  accepted(socket: S, podUid: string): void {
    const place = this.#strangers.get(socket);
    if (!place) return;
    place.pod = podUid;
    this.#strangers.delete(socket);
    this.#known.set(socket, place);
    const sockets = this.#byPod.get(podUid) ?? new Set();
    this.#byPod.set(podUid, sockets.add(socket));
    const [oldest] = sockets;
    if (sockets.size > this.#limits.perPodMax && oldest) this.#close(oldest, 'pod');
    this.#letIn();
  }

  answered(socket: S, outcome: Outcome): void {
    const place = this.#placeOf(socket);
    if (!place) return;
    place.untilMs = this.#options.clock.monotonic() + this.#limits.idleMs;
    place.refusals = outcome === 'accepted' ? 0 : place.refusals + 1;
    if (outcome !== 'unauthenticated' || place.pod === undefined) return;
    this.#forget(socket);
    this.#strangers.set(socket, { ...place, pod: undefined });
    this.#sweepLater();
  }

  /** The connection is closed, by whomever. */
  gone(socket: S): void {
    this.#forget(socket);
    this.#letIn();
  }

  /** Closes whatever nothing was asked on. */
  stop(): void {
    const silent = [...this.#strangers.values()].filter(({ hasAsked }) => !hasAsked);
    for (const socket of [...this.#waiting.keys(), ...silent.map(({ socket }) => socket)]) {
      this.#forget(socket);
      socket.destroy();
    }
  }

  #placeOf(socket: S): ConnectionSlot<S> | undefined {
    return this.#strangers.get(socket) ?? this.#known.get(socket);
  }

  #forget(socket: S): void {
    const pod = this.#known.get(socket)?.pod;
    const ofPod = pod === undefined ? undefined : this.#byPod.get(pod);
    ofPod?.delete(socket);
    if (pod !== undefined && ofPod?.size === 0) this.#byPod.delete(pod);
    this.#known.delete(socket);
    this.#strangers.delete(socket);
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
      if (!this.#mayBegin(nowMs) || !this.#hasRoom(nowMs)) return;
      this.#waiting.delete(socket);
      const { firstRequestMs } = this.#limits;
      const untilMs = nowMs + firstRequestMs;
      this.#strangers.set(socket, { socket, beganMs: nowMs, untilMs, hasAsked: false, refusals: 0, pod: undefined });
      this.#beginsFullAtMs = Math.max(this.#beginsFullAtMs, nowMs) + 1000 / this.#limits.beginsPerSecond;
      begin(socket);
    }
  }

  /** A bucket with the beginnings of one second. */
  #mayBegin(nowMs: number): boolean {
    return this.#beginsFullAtMs - nowMs < 1000;
  }

  #hasRoom(nowMs: number): boolean {
    const { strangersMax, settledMs } = this.#limits;
    if (this.#strangers.size < strangersMax) return true;
    const [oldest] = this.#strangers.values();
    if (!oldest || nowMs - oldest.beganMs < settledMs) return false;
    this.#close(oldest.socket, 'full');
    return true;
  }

  #sweepLater(): void {
    if (this.#cancelSweep) return;
    const intervalMs = this.#waiting.size > 0 ? 20 : SWEEP_MS;
    this.#cancelSweep = this.#options.clock.after(intervalMs, () => {
      this.#cancelSweep = undefined;
      this.#sweep();
      if (this.#waiting.size + this.#strangers.size > 0) this.#sweepLater();
    });
  }

  #sweep(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const [socket, sinceMs] of this.#waiting) {
      if (nowMs - sinceMs < WAITED_MS) break;
      this.#close(socket, 'waited');
    }
    for (const { socket, untilMs, hasAsked } of this.#strangers.values()) {
      if (nowMs >= untilMs) this.#close(socket, hasAsked ? 'idle' : 'no request');
    }
    this.#letIn();
  }

  #close(socket: S, reason: ClosedReason): void {
    this.#forget(socket);
    this.#options.onClosed?.(reason);
    socket.destroy();
  }
}
