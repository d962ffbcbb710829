import type { ProbeResult, ServiceDefinition, ServiceState } from './types.ts';

export type Thresholds = Pick<ServiceDefinition, 'name' | 'failureThreshold' | 'successThreshold'>;

/** What is remembered of the findings on one service. */
export type Tally = {
  /** `undefined` until the findings allow a first verdict. */
  state: ServiceState | undefined;
  /** Soft findings since the last healthy one. */
  softRun: number;
  /** Healthy findings since the last other one. */
  healthyRun: number;
};

export const NOTHING_KNOWN: Tally = { state: undefined, softRun: 0, healthyRun: 0 };

/**
 * Folds one finding into the verdict on a service.
 *
 * - `hard` withdraws at once, `soft` when it is the `failureThreshold`-th in a row, `healthy` readmits when it is the
 *   `successThreshold`-th in a row.
 * - Before the first verdict soft findings count no less: an agent that has just started is slow itself, and must not take
 *   from a node what the agent before it saw.
 * - `sinceMs` changes with `ready` alone; the evidence is that of the newest finding that supports the verdict.
 *
 * Returns the same `state` object when nothing about it changed.
 */
export function foldFinding(tally: Tally, finding: ProbeResult, thresholds: Thresholds, nowMs: number): Tally {
  const healthy = finding.verdict === 'healthy';
  const softRun = healthy ? 0 : tally.softRun + (finding.verdict === 'soft' ? 1 : 0);
  const healthyRun = healthy ? tally.healthyRun + 1 : 0;
  const ready = decide(tally, { softRun, healthyRun, finding, thresholds });
  const supports = ready === healthy;
  if (ready === undefined || !supports) return { state: tally.state, softRun, healthyRun };
  return { state: nextState(tally.state, thresholds.name, ready, finding.evidence, nowMs), softRun, healthyRun };
}

type Count = { softRun: number; healthyRun: number; finding: ProbeResult; thresholds: Thresholds };

function decide({ state }: Tally, { softRun, healthyRun, finding, thresholds }: Count): boolean | undefined {
  if (finding.verdict === 'healthy') return healthyRun >= thresholds.successThreshold ? true : state?.ready;
  if (finding.verdict === 'hard' || softRun >= thresholds.failureThreshold) return false;
  return state?.ready;
}

function nextState(
  state: ServiceState | undefined,
  name: string,
  ready: boolean,
  evidence: string,
  nowMs: number,
): ServiceState {
  if (state?.ready === ready && state.evidence === evidence) return state;
  const sinceMs = state?.ready === ready ? state.sinceMs : nowMs;
  return { name, ready, sinceMs, evidence };
}
