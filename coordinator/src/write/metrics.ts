import { Counter, Gauge, Histogram, type Registry } from '@rollcall/common/metrics.ts';
import type { SkippedCause } from '../decide/intent/plan.ts';

/** `probe` is a rehearsed write that looks for the key that is refused; it changes nothing. */
export type WriteKind = 'set' | 'withdraw' | 'taints' | 'conditions' | 'probe';

/** The values of the gauges, computed when they are read. */
export type ApplySources = {
  queueDepth: () => number;
  writesInFlight: () => number;
  skippedKeys: () => Readonly<Record<SkippedCause, number>>;
};

export type ApplyMetrics = {
  countPatch(kind: WriteKind, outcome: string): void;
  observePatch(kind: WriteKind, seconds: number): void;
  observeQueueLatency(seconds: number): void;
  observeEvidenceToApplied(seconds: number): void;
};

const PATCH_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const WAITING_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Registers the metrics of this room; once for a registry. */
export function createApplyMetrics(registry: Registry, sources: ApplySources): ApplyMetrics {
  const registers = [registry];
  const patches = new Counter({
    name: 'rollcall_coordinator_patches_total',
    help: 'Writes to Nodes, by kind and outcome.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const patchDuration = new Histogram({
    name: 'rollcall_coordinator_patch_duration_seconds',
    help: 'Time from sending a write to a Node to its answer, in seconds.',
    labelNames: ['kind'],
    buckets: PATCH_SECONDS,
    registers,
  });
  const queueLatency = new Histogram({
    name: 'rollcall_coordinator_queue_latency_seconds',
    help: 'Time that a Node waited in the work queue, in seconds.',
    buckets: WAITING_SECONDS,
    registers,
  });
  const evidenceToApplied = new Histogram({
    name: 'rollcall_coordinator_evidence_to_applied_seconds',
    help: 'Time from the arrival of evidence until the resulting keys are on the Node, in seconds.',
    buckets: WAITING_SECONDS,
    registers,
  });
  registerGauges(registers, sources);
  return {
    countPatch: (kind, outcome) => patches.inc({ kind, outcome }),
    observePatch: (kind, seconds) => patchDuration.observe({ kind }, seconds),
    observeQueueLatency: (seconds) => queueLatency.observe(seconds),
    observeEvidenceToApplied: (seconds) => evidenceToApplied.observe(seconds),
  };
}

function registerGauges(registers: Registry[], sources: ApplySources): void {
  new Gauge({
    name: 'rollcall_coordinator_queue_depth',
    help: 'Nodes in the work queue.',
    registers,
    collect() {
      this.set(sources.queueDepth());
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_writes_in_flight',
    help: 'Writes to Nodes that the API server has not answered yet, at most 16.',
    registers,
    collect() {
      this.set(sources.writesInFlight());
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_skipped_keys',
    help: 'Keys that could not be written to Nodes, by cause.',
    labelNames: ['cause'],
    registers,
    collect() {
      const { contested: _, ...refused } = sources.skippedKeys();
      for (const [cause, count] of Object.entries(refused)) this.set({ cause }, count);
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_contested_keys',
    help: 'Keys of Nodes that another writer changes back; rollcall writes them less and less often.',
    registers,
    collect() {
      this.set(sources.skippedKeys().contested);
    },
  });
}
