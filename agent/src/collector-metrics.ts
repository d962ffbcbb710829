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
    help: '1 when the last reading of the collector worked, also where there is nothing to read, else 0.',
    labelNames,
    registers,
  });
  const available = new Gauge({
    name: 'rollcall_agent_collector_available',
    help: '1 when the machine has what the collector reads, 0 where it has no such bus.',
    labelNames,
    registers,
  });
  const duration = new Gauge({
    name: 'rollcall_agent_collector_duration_seconds',
    help: 'How long the last reading of the collector took, in seconds.',
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
