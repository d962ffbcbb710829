import type { Clock } from '@rollcall/common/clock.ts';
import { type HealthChecks, Watchdog } from '@rollcall/common/health.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { TokenBucket } from '@rollcall/common/token-bucket.ts';
import type { ProbeMetrics } from './probes/metrics.ts';
import { formatTarget } from './probes/probe.ts';
import { ProbeTurns } from './probes/probe-turns.ts';
import type { WatchedService } from './probes/service-list.ts';
import { createServiceMonitor, type ServiceMonitor } from './probes/service-monitor.ts';
import { SharedTimer } from './probes/shared-timer.ts';
import type { ReportedState, ServiceDefinition, ServiceState } from './probes/types.ts';

/** So often may evidence alone change in what is reported, and once more in so long after that. */
const EVIDENCE_BURST = 5;
const EVIDENCE_REFILL_MS = 10_000;

/**
 * What a report says of a service. Whether it is ready shows at once; of evidence that keeps changing, some is left
 * out, since each costs a report in full.
 */
export class ShownState {
  readonly #evidenceChanges = new TokenBucket({ burst: EVIDENCE_BURST, intervalMs: EVIDENCE_REFILL_MS });
  readonly #clock: Clock;
  #state: ReportedState | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What to report now that this is seen. */
  show(state: ReportedState): ReportedState {
    const before = this.#state;
    const isSame = before?.ready === state.ready && before.unknown === state.unknown && before.digest === state.digest;
    if (isSame && (before.evidence === state.evidence || !this.#evidenceChanges.take(this.#clock.monotonic())))
      return before;
    this.#state = state;
    return state;
  }
}

/** A round that is this often overdue will not come any more. */
const ROUNDS_OVERDUE_MAX = 10;
/** Never less: a machine under load must not have its agents restarted. */
const STALLED_MS_MIN = 30_000;
/** While only the evidence changes, a line is logged this often at most. */
const EVIDENCE_LOG_MS = 60_000;

export type ServicesWatchOptions = {
  clock: Clock;
  logger: Logger;
  metrics: ProbeMetrics;
  health: HealthChecks;
  signal: AbortSignal;
  /** Called when there is something else to report that does not wait: a change of the list, or of what is ready. */
  onChange: () => void;
};

type Watched = {
  service: WatchedService;
  /** Absent where the service is refused. */
  monitor: ServiceMonitor | undefined;
  stop: AbortController;
  sinceMs: number;
  shown: ShownState;
};

/** All services of the node together, each watched by a monitor of its own. The list may change at any time. */
export class ServicesWatch {
  readonly #options: ServicesWatchOptions;
  readonly #turns: ProbeTurns;
  readonly #timer: SharedTimer;
  #watched = new Map<string, Watched>();
  #hasList = false;

  constructor(options: ServicesWatchOptions) {
    this.#options = options;
    this.#turns = new ProbeTurns(options.clock);
    this.#timer = new SharedTimer(options.clock);
    options.signal.addEventListener('abort', () => {
      for (const [name, { stop }] of this.#watched) {
        stop.abort();
        this.#turns.leave(name);
      }
    });
  }

  /**
   * From now on these are watched and no others. What is as before goes on as before; of another check, or of another
   * address, nothing is known at first.
   */
  watch(services: readonly WatchedService[]): void {
    if (this.#options.signal.aborted) return;
    const before = this.#watched;
    this.#watched = new Map(services.map((service) => [service.name, this.#goOn(before.get(service.name), service)]));
    for (const [name, watched] of before) {
      if (this.#watched.get(name)?.stop !== watched.stop) this.#end(name, watched, this.#watched.has(name));
    }
    for (const [name, { monitor, stop }] of this.#watched) {
      if (before.get(name)?.stop !== stop) monitor?.start();
      // A list is another because something about its services, or about their pods, is.
      else monitor?.doubt();
    }
    this.#hasList = true;
    this.#options.onChange();
  }

  /** Names of the services that were not probed yet. */
  unseen(): string[] {
    return [...this.#watched].filter(([, { monitor }]) => monitor?.rounds() === 0).map(([name]) => name);
  }

  /** Whether the coordinator has said what is to be probed. */
  get hasList(): boolean {
    return this.#hasList;
  }

  states(): ReportedState[] {
    return [...this.#watched.values()].map((watched) => watched.shown.show(stateOf(watched)));
  }

  #goOn(before: Watched | undefined, service: WatchedService): Watched {
    return before && isSameCheck(before.service, service)
      ? { ...before, service }
      : this.#begin(service, before?.service.how === service.how);
  }

  /** `isMoved`: only its address is another than before. */
  #begin(service: WatchedService, isMoved: boolean): Watched {
    const { clock, metrics, health, logger } = this.#options;
    const stop = new AbortController();
    const watched = { service, stop, sinceMs: clock.now(), shown: new ShownState(clock) };
    metrics.begin(service.name);
    if (!('refusal' in service)) return { ...watched, monitor: this.#monitor(service, stop.signal, isMoved) };
    health.remove(`probe-${service.name}`);
    logger.warn({ service: service.name, reason: service.refusal }, 'Refused to probe a service');
    return { ...watched, monitor: undefined };
  }

  #end(name: string, { stop }: Watched, isReplaced: boolean): void {
    stop.abort();
    if (isReplaced) return;
    this.#turns.leave(name);
    this.#options.health.remove(`probe-${name}`);
    this.#options.metrics.end(name);
  }

  #monitor(definition: ServiceDefinition, signal: AbortSignal, isMoved: boolean): ServiceMonitor {
    const { name, periodMs, idlePeriodMs = 0, timeoutMs } = definition;
    const { clock, metrics, health, logger, onChange } = this.#options;
    const limitMs = Math.max(STALLED_MS_MIN, ROUNDS_OVERDUE_MAX * Math.max(periodMs, idlePeriodMs, timeoutMs));
    const watchdog = new Watchdog({ clock, limitMs });
    health.add(`probe-${name}`, watchdog.check);
    let logged: { ready: boolean; sinceMs: number; atMs: number } | undefined;
    return createServiceMonitor(definition, {
      clock,
      timer: this.#timer,
      signal,
      onRound: (result) => {
        watchdog.beat();
        metrics.observeProbe(name, result);
      },
      onSentinelClosed: () => metrics.countSentinelClose(name),
      // A pod that restarts does not wait for lists that are edited.
      takeTurn: (begin, isFirst) => this.#turns.take(name, begin, isMoved || !isFirst),
      onChange: (state) => {
        metrics.observeState(state);
        const { ready, sinceMs, evidence } = state;
        const atMs = clock.monotonic();
        // After this process stood still, the same verdict as before is news.
        const isNews = logged?.ready !== ready || logged.sinceMs !== sinceMs;
        if (isNews || atMs - (logged?.atMs ?? 0) >= EVIDENCE_LOG_MS) {
          logged = { ready, sinceMs, atMs };
          logger.info({ service: name, ready, evidence }, 'Saw a change of a service');
        }
        if (isNews) onChange();
      },
    });
  }
}

function isSameCheck(before: WatchedService, service: WatchedService): boolean {
  if ('refusal' in before || 'refusal' in service) return false;
  return before.how === service.how && formatTarget(before.target) === formatTarget(service.target);
}

function stateOf(watched: Watched): ReportedState {
  return { ...verdictOf(watched), digest: watched.service.digest };
}

function verdictOf({ service, monitor, sinceMs }: Watched): ServiceState {
  const { name } = service;
  if ('refusal' in service) return { name, ready: false, sinceMs, evidence: `not probed: ${service.refusal}` };
  const state = monitor?.state();
  if (state) return state;
  return unknown(name, sinceMs, monitor?.rounds() === 0 ? 'not probed yet' : 'not probed often enough yet');
}

function unknown(name: string, sinceMs: number, evidence: string): ServiceState {
  return { name, ready: false, unknown: true, sinceMs, evidence: `not known yet: ${evidence}` };
}
