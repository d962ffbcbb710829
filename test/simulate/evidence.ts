import type { SimNode } from './node.ts';
import { isHealthy, portAsked, type ServiceSpec } from './services.ts';

/** Falls within so long count, and after more of them than these a service is held back. */
const FALLS_WINDOW_MS = 300_000;
const FALLS_FREE = 3;
/** The longest that a service is held back, and a moment. */
const HELD_MS_MAX = 310_000;

/** The true state of one service on one node, and its past. Times are by the clock of the world. */
export class Evidence {
  isReady = false;
  sinceMs: number;
  /** When it was last other than it is now. */
  #otherMs: number;
  #fallsMs: number[] = [];
  /** Until then it may be held back, as it comes and goes. */
  heldUntilMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs: number) {
    this.sinceMs = nowMs;
    this.#otherMs = Number.NEGATIVE_INFINITY;
  }

  /** How long ago it was ready; 0 while it is. */
  readyAgoMs(nowMs: number): number {
    return this.isReady ? 0 : nowMs - this.#otherMs;
  }

  /** How long ago it was not ready; 0 while it is not. */
  notReadyAgoMs(nowMs: number): number {
    return this.isReady ? nowMs - this.#otherMs : 0;
  }

  look(isReady: boolean, nowMs: number): void {
    if (isReady === this.isReady) return;
    if (this.isReady) this.fell(nowMs);
    this.isReady = isReady;
    this.sinceMs = nowMs;
    this.#otherMs = nowMs;
  }

  /** It was ready and is not, or is no longer shown: each fall of a part of the evidence counts, and each for silence. */
  fell(nowMs: number): void {
    this.#fallsMs = [...this.#fallsMs.filter((atMs) => nowMs - atMs < FALLS_WINDOW_MS + 60_000), nowMs];
    if (this.#fallsMs.length > FALLS_FREE) this.heldUntilMs = nowMs + HELD_MS_MAX;
  }
}

/** Whether all that is asked for is there. */
export function isReadyOn(node: SimNode, service: ServiceSpec): boolean {
  const hasPod = !service.pods || node.podState(service.name) === 'ready';
  const isSeen = service.seen === undefined || node.seen.has(service.seen);
  return hasPod && isSeen && isHealthy(service, node.sockets.stateOf(portAsked(service)));
}
