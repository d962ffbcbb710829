import type { Clock } from '@rollcall/common/clock.ts';
import { type HealthChecks, Watchdog } from '@rollcall/common/health.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import type { ProbeMetrics } from './probes/metrics.ts';
import { createServiceMonitor, type ServiceMonitor } from './probes/service-monitor.ts';
import type { ServiceDefinition, ServiceState } from './probes/types.ts';

/** A round that is this often overdue will not come any more. */
const ROUNDS_OVERDUE_MAX = 10;
/** Never less: a machine under load must not have its agents restarted. */
const STALLED_MS_MIN = 30_000;

export type ServicesWatchOptions = {
  definitions: readonly ServiceDefinition[];
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: ProbeMetrics;
  health: HealthChecks;
  signal: AbortSignal;
  /** Called when there is something else to report. */
  onChange: () => void;
};

/** All services of the node together, each watched by a monitor of its own. */
export class ServicesWatch {
  readonly #monitors: readonly ServiceMonitor[];

  constructor(options: ServicesWatchOptions) {
    this.#monitors = options.definitions.map((definition) => monitorService(definition, options));
  }

  start(): void {
    for (const monitor of this.#monitors) monitor.start();
  }

  /** Names of the services that were not probed yet. */
  unseen(): string[] {
    return this.#monitors.filter((monitor) => monitor.rounds() === 0).map(({ name }) => name);
  }

  /** `undefined` until there is a verdict on every service. */
  states(): ServiceState[] | undefined {
    const states: ServiceState[] = [];
    for (const monitor of this.#monitors) {
      const state = monitor.state();
      if (!state) return undefined;
      states.push(state);
    }
    return states;
  }

  /** Probes each service where `targets` says, or at its default where it says nothing. */
  retarget(targets: ReadonlyMap<string, ProbeTarget>): void {
    for (const monitor of this.#monitors) monitor.setTarget(targets.get(monitor.name));
  }
}

function monitorService(definition: ServiceDefinition, options: ServicesWatchOptions): ServiceMonitor {
  const { clock, signal, random, metrics, health, logger, onChange } = options;
  const limitMs = Math.max(STALLED_MS_MIN, ROUNDS_OVERDUE_MAX * Math.max(definition.periodMs, definition.timeoutMs));
  const watchdog = new Watchdog({ clock, limitMs, signal });
  health.add(`probe-${definition.name}`, watchdog.check);
  return createServiceMonitor(definition, {
    clock,
    signal,
    random,
    onRound: (result) => {
      watchdog.beat();
      metrics.observeProbe(definition.name, result);
    },
    onSentinelClosed: () => metrics.countSentinelClose(definition.name),
    onChange: (state) => {
      metrics.observeState(state);
      logger.info({ service: state.name, ready: state.ready, evidence: state.evidence }, 'Saw a change of a service');
      onChange();
    },
  });
}
