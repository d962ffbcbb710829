import { Counter, Gauge, type Registry } from '@rollcall/common/metrics.ts';

type NotifyOutcome = 'delivered' | 'failed';

export type NotifyMetrics = {
  /** `notifier` is the place of its URL in the configuration, from 0: the URL itself may hold a secret. */
  count(notifier: number, outcome: NotifyOutcome): void;
};

/** Registers the metrics of this room; once for a registry. `pending` says how much waits, by notifier. */
export function createNotifyMetrics(registry: Registry, pending: () => readonly number[]): NotifyMetrics {
  const notifications = new Counter({
    name: 'rollcall_coordinator_notifications_total',
    help: 'Attempts to post the changes of a node to a URL, by the position of the URL in the configuration and by outcome.',
    labelNames: ['notifier', 'outcome'],
    registers: [registry],
  });
  new Gauge({
    name: 'rollcall_coordinator_notifications_pending',
    help: 'Nodes with changes that a URL has not accepted yet, by the position of the URL in the configuration.',
    labelNames: ['notifier'],
    registers: [registry],
    collect() {
      for (const [notifier, count] of pending().entries()) this.set({ notifier }, count);
    },
  });
  return { count: (notifier, outcome) => notifications.inc({ notifier, outcome }) };
}
