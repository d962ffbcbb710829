import type { Registry } from '@rollcall/common/metrics.ts';
import { createExtenderMetrics } from '@rollcall/scheduler-extender/extender/metrics.ts';
import { IngestMetrics } from '../ingest/metrics.ts';
import { createKubeMetrics } from '../kube/kube-metrics.ts';
import { registerFleetMetrics, registerGateMetric } from '../state/metrics.ts';
import { createEventMetrics } from '../subscribers/events/metrics.ts';
import { createEvictionMetrics } from '../subscribers/eviction/metrics.ts';
import { registerLedgerMetric } from '../subscribers/ledger/metrics.ts';
import { createNotifyMetrics } from '../subscribers/notify/metrics.ts';
import { ServiceMetrics } from '../subscribers/service-metrics.ts';
import { CertificateMetrics } from '../tls/metrics.ts';
import { createApplyMetrics } from '../write/metrics.ts';

/** Registers every metric of the coordinator without starting anything: for packages/docs/reference/metrics.md. */
export function registerCoordinatorMetrics(registry: Registry): void {
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
    guards: () => [],
    refusedPoolKeys: () => 0,
    ruleProblems: () => 0,
    serviceNodes: () => new Map(),
    nodeServices: () => [],
    isDryRun: () => false,
  });
  registerLedgerMetric(registry, () => []);
  registerGateMetric(registry);
  createEvictionMetrics(registry, () => 0);
  createNotifyMetrics(registry, () => []);
  createExtenderMetrics(registry);
  new ServiceMetrics(registry);
  new IngestMetrics(registry);
  new CertificateMetrics(registry);
}
