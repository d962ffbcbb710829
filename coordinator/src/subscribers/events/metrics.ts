import { Counter, type Registry } from '@rollcall/common/metrics.ts';

/** `suppressed`: its object had used up what one object may have. `dropped`: no room, no right to write, or stopping. */
type EventOutcome = 'created' | 'raised' | 'suppressed' | 'dropped' | 'failed';

export type EventMetrics = {
  countNews(outcome: EventOutcome, count: number): void;
};

/** Registers the metrics of this room; once for a registry. */
export function createEventMetrics(registry: Registry): EventMetrics {
  const events = new Counter({
    name: 'rollcall_coordinator_events_total',
    help: 'Occurrences for Kubernetes Events, by outcome: created, raised (the count of an Event), suppressed, dropped, failed.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return { countNews: (outcome, count) => events.inc({ outcome }, count) };
}
