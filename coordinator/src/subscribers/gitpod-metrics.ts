import { Counter, Histogram, type Registry } from '@rollcall/common/metrics.ts';

/** What dashboards of Gitpod's node-labeler look at, under its names. */
export class GitpodMetrics {
  readonly #reconciles: Counter<'component'>;
  readonly #readySeconds: Histogram<'component'>;

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
  }

  /** `podStartMs`: when the pod that is Ready was started, by the wall clock; `undefined` where there is none. */
  becameReady(component: string, podStartMs: number | undefined, nowMs: number): void {
    this.#reconciles.inc({ component });
    if (podStartMs !== undefined) this.#readySeconds.observe({ component }, Math.max(0, nowMs - podStartMs) / 1000);
  }
}
