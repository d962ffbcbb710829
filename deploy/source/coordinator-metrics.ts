import type { Registry } from '@rollcall/common/metrics.ts';
import { IngestMetrics } from '@rollcall/coordinator/ingest/metrics.ts';
import { createKubeMetrics } from '@rollcall/coordinator/kube/kube-metrics.ts';
import { registerFleetMetrics, registerGateMetric } from '@rollcall/coordinator/state/metrics.ts';
import { createEventMetrics } from '@rollcall/coordinator/subscribers/events/metrics.ts';
import { createEvictionMetrics } from '@rollcall/coordinator/subscribers/eviction/metrics.ts';
import { registerLedgerMetric } from '@rollcall/coordinator/subscribers/ledger/metrics.ts';
import { createNotifyMetrics } from '@rollcall/coordinator/subscribers/notify/metrics.ts';
import { ServiceMetrics } from '@rollcall/coordinator/subscribers/service-metrics.ts';
import { CertificateMetrics } from '@rollcall/coordinator/tls/metrics.ts';
import { createApplyMetrics } from '@rollcall/coordinator/write/metrics.ts';
import { createExtenderMetrics } from '@rollcall/scheduler-extender/extender/metrics.ts';

/** Registers every metric of the coordinator without starting anything: for packages/docs/reference/metrics.md. */
export function registerCoordinatorMetrics(registry: Registry): void {
  // There is nothing to collect.
  const nothing = () => [];
  createKubeMetrics(registry);
  createApplyMetrics(registry, {
    queueDepth: () => 0,
    writesInFlight: () => 0,
    skippedKeys: () => ({ foreign: 0, invalid: 0, denied: 0, contested: 0 }),
  });
  createEventMetrics(registry);
  registerFleetMetrics(registry, {
    nodesByFreshness: () => ({ fresh: 0, leaving: 0, unheard: 0, silent: 0, absent: 0, none: 0, maintenance: 0 }),
    heldBack: () => 0,
    guards: nothing,
    refusedPoolKeys: () => 0,
    ruleProblems: () => 0,
    serviceNodes: () => new Map(),
    nodeServices: nothing,
    isDryRun: () => false,
  });
  registerLedgerMetric(registry, nothing);
  registerGateMetric(registry);
  createEvictionMetrics(registry, () => 0);
  createNotifyMetrics(registry, nothing);
  createExtenderMetrics(registry);
  new ServiceMetrics(registry);
  new IngestMetrics(registry);
  new CertificateMetrics(registry);
}
