import { Counter, type Registry } from '@rollcall/common/metrics.ts';

/** Registers what the truth ledger counts; once for a registry. */
export function registerLedgerMetric(
  registry: Registry,
  seconds: () => Iterable<{ key: string; direction: string; seconds: number }>,
): void {
  new Counter({
    name: 'rollcall_coordinator_lie_seconds_total',
    help: 'Seconds for which Nodes contradicted the evidence, over all nodes, by key and direction: said-ready (it was not ready) or said-not-ready (it was). In a dry run, other programs write the keys.',
    labelNames: ['key', 'direction'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { key, direction, seconds: counted } of seconds()) this.inc({ key, direction }, counted);
    },
  });
}
