import type { Registry } from '@rollcall/common/metrics.ts';
import { createApplyMetrics } from './apply/metrics.ts';
import { createEventMetrics } from './events/metrics.ts';
import { createEvictionMetrics } from './eviction/metrics.ts';
import { createExtenderMetrics } from './extender/metrics.ts';
import { registerFleetMetrics, registerGateMetric } from './fleet-metrics.ts';
import { GitpodMetrics } from './gitpod-metrics.ts';
import { IngestMetrics } from './ingest/metrics.ts';
import { createKubeMetrics } from './kube/kube-metrics.ts';
import { createNotifyMetrics } from './notify/metrics.ts';
import { CertificateMetrics } from './tls/metrics.ts';

/** Registers every metric of the coordinator without starting anything: for the reference in the README. */
export function registerCoordinatorMetrics(registry: Registry): void {
  createKubeMetrics(registry);
  createApplyMetrics(registry, {
    queueDepth: () => 0,
    writeConcurrency: () => 0,
    setAsideKeys: () => ({ foreign: 0, invalid: 0, denied: 0 }),
  });
  createEventMetrics(registry);
  registerFleetMetrics(registry, {
    countByFreshness: () => ({ fresh: 0, leaving: 0, unheard: 0, silent: 0, absent: 0 }),
    activeGuards: () => [],
    heldBack: () => 0,
    refusedPoolKeys: () => 0,
    ruleProblems: () => 0,
  });
  registerGateMetric(registry);
  createEvictionMetrics(registry, () => 0);
  createNotifyMetrics(registry, () => []);
  createExtenderMetrics(registry);
  new GitpodMetrics(registry);
  new IngestMetrics(registry);
  new CertificateMetrics(registry);
}
