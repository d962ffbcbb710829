import type { Clock } from '@rollcall/common/clock.ts';
import { Counter, Gauge, type Registry } from '@rollcall/common/metrics.ts';

/** The metrics of this room. Each member is a plain function, so that nothing else here depends on the registry. */
export type KubeMetrics = {
  /** A request that ended; `code` is a status, or `error` when there was no answer. */
  answered(verb: string, code: string): void;
  watchEvent(resource: string): void;
  watchRestarted(resource: string, reason: string): void;
  /** This replica began or stopped to lead. */
  leading(leads: boolean): void;
  /** Another identity holds the Lease. */
  leaderChanged(): void;
};

export function createKubeMetrics(registry: Registry): KubeMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'rollcall_coordinator_kube_requests_total',
    help: 'Completed requests to the API server, by verb and status code; the code is "error" if there was no answer.',
    labelNames: ['verb', 'code'],
    registers,
  });
  const events = new Counter({
    name: 'rollcall_coordinator_watch_events_total',
    help: 'Events received from watches, including bookmarks.',
    labelNames: ['resource'],
    registers,
  });
  const restarts = new Counter({
    name: 'rollcall_coordinator_watch_restarts_total',
    help: 'Watches that ended and were started again, by reason.',
    labelNames: ['resource', 'reason'],
    registers,
  });
  const leader = new Gauge({
    name: 'rollcall_coordinator_leader',
    help: '1 on the leader, 0 on a standby.',
    registers,
  });
  const transitions = new Counter({
    name: 'rollcall_coordinator_leader_transitions_total',
    help: 'Changes of the leader that this replica has observed.',
    registers,
  });
  return {
    answered: (verb, code) => requests.inc({ verb, code }),
    watchEvent: (resource) => events.inc({ resource }),
    watchRestarted: (resource, reason) => restarts.inc({ resource, reason }),
    leading: (leads) => leader.set(leads ? 1 : 0),
    leaderChanged: () => transitions.inc(),
  };
}

/** When the API server last answered a request of any client here successfully. */
export class ApiContact {
  readonly #clock: Clock;
  #lastMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `code` is a status, or `error` when there was no answer. */
  answered(code: string): void {
    if (code.startsWith('2')) this.#lastMs = this.#clock.monotonic();
  }

  /** Milliseconds since then. */
  silentMs(): number {
    return this.#lastMs === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() - this.#lastMs;
  }
}
