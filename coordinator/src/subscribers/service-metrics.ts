import { Counter, Histogram, type Registry } from '@rollcall/common/metrics.ts';

/** Seconds from the creation of a node. */
const STARTUP_BUCKETS = [5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200];

/** DaemonSets with a histogram of their own. */
const DAEMON_SETS_MAX = 200;

/** How services become ready: under the names of Gitpod's node-labeler, for its dashboards, and under our own. */
export class ServiceMetrics {
  readonly #reconciles: Counter<'component'>;
  readonly #readySeconds: Histogram<'component'>;
  readonly #startupSeconds: Histogram<'service'>;
  readonly #late: Counter<'service'>;
  readonly #daemonSetSeconds: Histogram<'daemon_set'>;
  readonly #daemonSets = new Set<string>();

  constructor(registry: Registry) {
    this.#reconciles = new Counter({
      name: 'gitpod_node_labeler_reconcile_total',
      help: 'Number of times that a service was shown as ready on a node.',
      labelNames: ['component'],
      registers: [registry],
    });
    this.#readySeconds = new Histogram({
      name: 'gitpod_node_labeler_ready_seconds',
      help: 'Time from the start of the pod of a service until the node showed the service as ready, in seconds.',
      labelNames: ['component'],
      buckets: [5, 10, 15, 20, 25, 30, 45, 60, 75],
      registers: [registry],
    });
    this.#startupSeconds = new Histogram({
      name: 'rollcall_coordinator_service_startup_seconds',
      help: 'Time from the creation of a node until it showed the service as ready for the first time, in seconds, for nodes that were created while this replica led.',
      labelNames: ['service'],
      buckets: STARTUP_BUCKETS,
      registers: [registry],
    });
    this.#daemonSetSeconds = new Histogram({
      name: 'rollcall_coordinator_startup_gate_daemon_set_seconds',
      help: 'Time from the creation of a node until the pod of a DaemonSet was Ready there, in seconds, for nodes whose startup gate waited for DaemonSets; by NAMESPACE/NAME, of 200 DaemonSets at most, and others.',
      labelNames: ['daemon_set'],
      buckets: STARTUP_BUCKETS,
      registers: [registry],
    });
    this.#late = new Counter({
      name: 'rollcall_coordinator_startup_deadlines_exceeded_total',
      help: 'Number of times that a service was not ready on a node within its startupDeadline.',
      labelNames: ['service'],
      registers: [registry],
    });
  }

  /** `ms`: the time from the creation of the node. */
  started(service: string, ms: number): void {
    this.#startupSeconds.observe({ service }, Math.max(0, ms) / 1000);
  }

  /** `ms`: the time from the creation of the node, by two clocks. */
  daemonSetReady(name: string, ms: number): void {
    if (this.#daemonSets.size < DAEMON_SETS_MAX) this.#daemonSets.add(name);
    const shown = this.#daemonSets.has(name) ? name : 'others';
    this.#daemonSetSeconds.observe({ daemon_set: shown }, Math.max(0, ms) / 1000);
  }

  late(service: string): void {
    this.#late.inc({ service });
  }

  /** `podStartMs`: when the pod that is Ready was started, by the wall clock; `undefined` where there is none. */
  becameReady(component: string, podStartMs: number | undefined, nowMs: number): void {
    this.#reconciles.inc({ component });
    if (podStartMs !== undefined) this.#readySeconds.observe({ component }, Math.max(0, nowMs - podStartMs) / 1000);
  }
}
