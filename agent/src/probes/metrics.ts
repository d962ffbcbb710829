import { Counter, Gauge, Histogram, type Registry } from '@rollcall/common/metrics.ts';
import type { ProbeResult, ServiceState } from './types.ts';

/** A probe on one's own node takes milliseconds, or its whole time limit. */
const DURATION_BUCKETS_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5];
const VERDICTS = ['healthy', 'soft', 'hard', 'unknown'] as const satisfies ProbeResult['verdict'][];

export type ProbeMetrics = {
  observeProbe(service: string, result: ProbeResult): void;
  observeState(state: ServiceState): void;
  countSentinelClose(service: string): void;
  /** A service is probed from now on: its series start at zero, so that rates are right. */
  begin(service: string): void;
  /** It is no more. */
  end(service: string): void;
};

/** Registers the metrics of the probes. */
export function registerProbeMetrics(registry: Registry): ProbeMetrics {
  const registers = [registry];
  const probes = new Counter({
    name: 'rollcall_agent_probes_total',
    help: 'Probes, by verdict: healthy, soft (failed, but the service may still run), hard (nothing serves there) or unknown (not asked, because other paths hang).',
    labelNames: ['service', 'verdict'],
    registers,
  });
  const duration = new Histogram({
    name: 'rollcall_agent_probe_duration_seconds',
    help: 'Duration of probes, including second attempts, in seconds.',
    labelNames: ['service'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers,
  });
  const ready = new Gauge({
    name: 'rollcall_agent_service_ready',
    help: '1 if the service is ready according to its probes, otherwise 0.',
    labelNames: ['service'],
    registers,
  });
  const sentinelCloses = new Counter({
    name: 'rollcall_agent_sentinel_closes_total',
    help: 'Number of times that a service closed or refused the idle connection by which the agent notices its end.',
    labelNames: ['service'],
    registers,
  });
  return {
    observeProbe(service, { verdict, latencyMs }) {
      probes.inc({ service, verdict });
      if (latencyMs !== undefined) duration.observe({ service }, latencyMs / 1000);
    },
    observeState(state) {
      ready.set({ service: state.name }, state.ready ? 1 : 0);
    },
    countSentinelClose(service) {
      sentinelCloses.inc({ service });
    },
    begin(service) {
      for (const verdict of VERDICTS) probes.inc({ service, verdict }, 0);
      duration.zero({ service });
      ready.set({ service }, 0);
      sentinelCloses.inc({ service }, 0);
    },
    end(service) {
      for (const verdict of VERDICTS) probes.remove({ service, verdict });
      for (const metric of [duration, ready, sentinelCloses]) metric.remove({ service });
    },
  };
}
