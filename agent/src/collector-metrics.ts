import { Gauge, type Registry } from '@rollcall/common/metrics.ts';
import type { Unread } from '@rollcall/common/report.ts';

/** How a reading went. `absent`: the machine has no such bus, which is no failure. */
type CollectorOutcome = 'read' | 'absent' | 'failed';

export type CollectorMetrics = {
  observeReading(collector: Unread, outcome: CollectorOutcome, durationMs: number): void;
};

type Reading = { outcome: CollectorOutcome; durationMs: number };

/** The same three series for each collector, after its first reading. They are made when someone asks for them. */
export function registerCollectorMetrics(registry: Registry): CollectorMetrics {
  const last = new Map<Unread, Reading>();
  const show = (name: string, help: string, read: (reading: Reading) => number) => {
    new Gauge({
      name,
      help,
      labelNames: ['collector'],
      registers: [registry],
      collect() {
        for (const [collector, reading] of last) this.set({ collector }, read(reading));
      },
    });
  };
  show(
    'rollcall_agent_collector_success',
    '1 if the last run of the collector succeeded, also if there was nothing to read; otherwise 0.',
    ({ outcome }) => (outcome === 'failed' ? 0 : 1),
  );
  show(
    'rollcall_agent_collector_available',
    '1 if the machine has the bus that the collector reads, otherwise 0.',
    ({ outcome }) => (outcome === 'absent' ? 0 : 1),
  );
  show(
    'rollcall_agent_collector_duration_seconds',
    'Duration of the last run of the collector, in seconds.',
    ({ durationMs }) => durationMs / 1000,
  );
  return {
    observeReading: (collector, outcome, durationMs) => last.set(collector, { outcome, durationMs }),
  };
}
