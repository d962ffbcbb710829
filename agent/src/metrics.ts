import type { Registry } from '@rollcall/common/metrics.ts';
import { REGISTRY_FACADE, WS_DAEMON } from '@rollcall/common/well-known.ts';
import { type ProbeMetrics, registerProbeMetrics } from './probes/metrics.ts';
import { type ReportMetrics, registerReportMetrics } from './report/metrics.ts';

export type AgentMetrics = { probes: ProbeMetrics; report: ReportMetrics };

/** Registers every metric of the agent but those that any process has (see `createRegistry`). */
export function registerAgentMetrics(registry: Registry): AgentMetrics {
  return {
    probes: registerProbeMetrics(registry, [WS_DAEMON, REGISTRY_FACADE]),
    report: registerReportMetrics(registry),
  };
}
