import { Gauge, type Registry } from '@rollcall/common/metrics.ts';
import type { Unread } from '@rollcall/common/report.ts';

/** How a reading went. `absent`: the machine has no such bus, which is no failure. */
type CollectorOutcome = 'read' | 'absent' | 'failed';

export type CollectorMetrics = {
  observeReading(collector: Unread, outcome: CollectorOutcome, durationMs: number): void;
};

/** The same three series for each collector, after its first reading. */
export function registerCollectorMetrics(registry: Registry): CollectorMetrics {
  const registers = [registry];
  const labelNames = ['collector'] as const;
  const success = new Gauge({
    name: 'rollcall_agent_collector_success',
    help: '1 if the last run of the collector succeeded, also if there was nothing to read; otherwise 0.',
    labelNames,
    registers,
  });
  const available = new Gauge({
    name: 'rollcall_agent_collector_available',
    help: '1 if the machine has the bus that the collector reads, otherwise 0.',
    labelNames,
    registers,
  });
  const duration = new Gauge({
    name: 'rollcall_agent_collector_duration_seconds',
    help: 'Duration of the last run of the collector, in seconds.',
    labelNames,
    registers,
  });
  return {
    observeReading(collector, outcome, durationMs) {
      success.set({ collector }, outcome === 'failed' ? 0 : 1);
      available.set({ collector }, outcome === 'absent' ? 0 : 1);
      duration.set({ collector }, durationMs / 1000);
    },
  };
}
