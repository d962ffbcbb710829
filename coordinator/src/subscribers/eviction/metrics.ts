import { Counter, Gauge, type Registry } from '@rollcall/common/metrics.ts';
import type { EvictionOutcome } from './evict-pod.ts';

export type EvictionMetrics = {
  countEviction(outcome: EvictionOutcome['kind']): void;
};

/** Registers the metrics of this room; once for a registry. */
export function createEvictionMetrics(registry: Registry, pending: () => number): EvictionMetrics {
  const registers = [registry];
  const evictions = new Counter({
    name: 'rollcall_coordinator_evictions_total',
    help: 'Attempts to evict a pod whose node lost a label that the pod requires, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  new Gauge({
    name: 'rollcall_coordinator_evictions_pending',
    help: 'Pods that wait for their eviction, on the nodes checked so far.',
    registers,
    collect() {
      this.set(pending());
    },
  });
  // From the start, or the first one would not count as an increase.
  for (const outcome of ['evicted', 'blocked', 'failed'] as const) evictions.inc({ outcome }, 0);
  return { countEviction: (outcome) => evictions.inc({ outcome }) };
}
