import { Backoff } from '@rollcall/common/backoff.ts';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import { hasCode } from '@rollcall/common/coded-error.ts';
import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { type KubeRequest, KubeStatusError } from '../../kube/client.ts';
import type { LeaderRequests } from '../../kube/leader-requests.ts';
import { eventNamespace, eventObject, eventRaise } from './event-object.ts';
import type { KnownEvent } from './event-recorder.ts';

export type EventSenderOptions = {
  requests: LeaderRequests;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  /** Who writes, such as the name of the pod. */
  instance: string;
  /** No request begins any more. */
  signal: AbortSignal;
};

/** `news` is how much news was in it. */
export type Delivery = { news: number } & (
  | { kind: 'created' | 'raised' | 'dropped' }
  | { kind: 'failed'; error: unknown }
);

/** Well within the time in which the program has to stop. */
const TIMEOUT_MS = 3000;
const ATTEMPTS_MAX = 6;
const RETRY_BASE_MS = 500;
const RETRY_MAX_MS = 10_000;
/** Besides 5xx. An API server that has just started says 401 and 403 until it has read who may do what. */
const MAY_PASS = new Set([401, 403, 429]);
/** Keeps the Event out of the answer. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** Tells the API server of one Event, as often as it takes within bounds. */
export class EventSender {
  readonly #options: EventSenderOptions;

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  /** Never throws. Every attempt carries all news that there is by then. */
  async send(event: KnownEvent): Promise<Delivery> {
    const { clock, random, signal } = this.#options;
    const backoff = new Backoff({ baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random });
    let news = 0;
    for (let attempt = 1; ; attempt += 1) {
      news += event.unsent;
      event.unsent = 0;
      const kind = event.stored ? 'raised' : 'created';
      try {
        await this.#request(event);
        event.stored = true;
        return { kind, news };
      } catch (error) {
        if (hasCode(error, 'LEADERSHIP_LOST')) return { kind: 'dropped', news };
        const delayMs = afterFailure(event, error, backoff);
        if (delayMs === undefined || attempt === ATTEMPTS_MAX) return { kind: 'failed', news, error };
        if (delayMs > 0) await sleep(clock, delayMs, signal);
      }
    }
  }

  async #request(event: KnownEvent): Promise<void> {
    const { requests, instance } = this.#options;
    const events = `/api/v1/namespaces/${encodeURIComponent(eventNamespace(event))}/events`;
    const request: Pick<KubeRequest, 'method' | 'path' | 'body' | 'contentType'> = event.stored
      ? {
          method: 'PATCH',
          path: `${events}/${encodeURIComponent(event.name)}`,
          body: eventRaise(event),
          contentType: 'application/merge-patch+json',
        }
      : { method: 'POST', path: events, body: eventObject(event, instance) };
    const query = { fieldManager: FIELD_MANAGER };
    await requests.request({ ...request, query, accept: METADATA_ONLY, timeoutMs: TIMEOUT_MS });
  }
}

/** Learns from a failed request. Returns the milliseconds to the next attempt, or `undefined` if there is none. */
function afterFailure(event: KnownEvent, error: unknown, backoff: Backoff): number | undefined {
  if (!(error instanceof KubeStatusError)) return hasCode(error, 'KUBE_UNREACHABLE') ? backoff.next() : undefined;
  if (error.status === 404 && event.stored) {
    event.stored = false;
    return 0;
  }
  // An earlier attempt whose answer was lost has made it.
  if (error.status === 409 && !event.stored) {
    event.stored = true;
    return 0;
  }
  if (!MAY_PASS.has(error.status) && error.status < 500) return undefined;
  return Math.max(backoff.next(), error.retryAfterMs ?? 0);
}
