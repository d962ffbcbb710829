import type { ProbeTarget } from '@rollcall/common/report.ts';

/**
 * What one probe saw.
 *
 * - `healthy`: the service answered as it should.
 * - `hard`: proof that nobody serves there (connection refused or reset).
 * - `soft`: no proof either way (time-out, an unexpected status); only a run of them counts.
 */
export type ProbeResult = {
  verdict: 'healthy' | 'hard' | 'soft';
  /** One sentence for people, the same for the same finding: no latencies, no counters. */
  evidence: string;
  latencyMs: number;
};

/** Asks a service once. Never rejects: what goes wrong is a finding. Gives up when `signal` aborts. */
export type Probe = (target: ProbeTarget, signal: AbortSignal) => Promise<ProbeResult>;

/** A service of this node, and how to tell whether it is ready. */
export type ServiceDefinition = {
  name: string;
  /** Probed until the coordinator names a better address. */
  defaultTarget: ProbeTarget;
  probe: Probe;
  periodMs: number;
  timeoutMs: number;
  /** Consecutive soft findings before a ready service counts as not ready. */
  failureThreshold: number;
  /** Consecutive healthy findings before a service counts as ready. */
  successThreshold: number;
};

/** The verdict on a service, as it is reported. */
export type ServiceState = {
  name: string;
  ready: boolean;
  /** Wall clock, milliseconds since the epoch; when `ready` took its present value. */
  sinceMs: number;
  evidence: string;
};
