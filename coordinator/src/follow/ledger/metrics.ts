import { Counter, type Registry } from '@rollcall/common/metrics.ts';

/** Registers what the truth ledger counts; once for a registry. */
export function registerLedgerMetric(
  registry: Registry,
  seconds: () => Iterable<{ key: string; direction: string; seconds: number }>,
): void {
  new Counter({
    name: 'rollcall_coordinator_lie_seconds_total',
    help: 'Seconds for which Nodes said what the evidence contradicts, over all nodes, by key: said-ready, although it was not, or said-not-ready. In a dry run it is about whoever writes the keys.',
    labelNames: ['key', 'direction'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { key, direction, seconds: counted } of seconds()) this.inc({ key, direction }, counted);
    },
  });
}
