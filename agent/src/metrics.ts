import type { Registry } from '@rollcall/common/metrics.ts';
import { type CollectorMetrics, registerCollectorMetrics } from './collector-metrics.ts';
import { type DeviceMetrics, registerDeviceMetrics } from './devices/metrics.ts';
import { type ProbeMetrics, registerProbeMetrics } from './probes/metrics.ts';
import { type ReportMetrics, registerReportMetrics } from './report/metrics.ts';

export type AgentMetrics = {
  probes: ProbeMetrics;
  report: ReportMetrics;
  collectors: CollectorMetrics;
  devices: DeviceMetrics;
};

/** Registers every metric of the agent but those that any process has (see `createRegistry`). */
export function registerAgentMetrics(registry: Registry): AgentMetrics {
  return {
    probes: registerProbeMetrics(registry),
    report: registerReportMetrics(registry),
    collectors: registerCollectorMetrics(registry),
    devices: registerDeviceMetrics(registry),
  };
}
