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
  /** Unknown findings since the last other one. */
  unknownRun: number;
};

export const NOTHING_KNOWN: Tally = { state: undefined, softRun: 0, healthyRun: 0, unknownRun: 0 };

/**
 * Folds one finding into the verdict on a service.
 *
 * - `hard` withdraws at once, `soft` when it is the `failureThreshold`-th in a row, `healthy` readmits when it is the
 *   `successThreshold`-th in a row. The `failureThreshold`-th `unknown` in a row makes the service unknown.
 * - Before the first verdict soft findings count no less: an agent that has just started is slow itself, and must not take
 *   from a node what the agent before it saw.
 * - `sinceMs` changes only with the verdict; the evidence comes from the newest finding that supports the verdict.
 *
 * Returns the same `state` object when nothing about it changed.
 */
export function foldFinding(tally: Tally, finding: ProbeResult, thresholds: Thresholds, nowMs: number): Tally {
  const { verdict, evidence } = finding;
  const runs = {
    softRun: verdict === 'healthy' ? 0 : tally.softRun + (verdict === 'soft' ? 1 : 0),
    healthyRun: verdict === 'healthy' ? tally.healthyRun + 1 : 0,
    unknownRun: verdict === 'unknown' ? tally.unknownRun + 1 : 0,
  };
  const decided = decide(verdict, runs, thresholds) ?? decisionOf(tally.state);
  if (decided === undefined || decided !== SUPPORTS[verdict]) return { state: tally.state, ...runs };
  return { state: nextState(tally.state, thresholds.name, decided, evidence, nowMs), ...runs };
}

type Decision = 'ready' | 'not-ready' | 'unknown';

/** The verdict on the service that a finding speaks for. */
const SUPPORTS: Readonly<Record<ProbeResult['verdict'], Decision>> = {
  healthy: 'ready',
  hard: 'not-ready',
  soft: 'not-ready',
  unknown: 'unknown',
};

/** `undefined` where the findings change nothing. */
function decide(
  verdict: ProbeResult['verdict'],
  { softRun, healthyRun, unknownRun }: Omit<Tally, 'state'>,
  { failureThreshold, successThreshold }: Thresholds,
): Decision | undefined {
  if (verdict === 'healthy') return healthyRun >= successThreshold ? 'ready' : undefined;
  if (verdict === 'unknown') return unknownRun >= failureThreshold ? 'unknown' : undefined;
  return verdict === 'hard' || softRun >= failureThreshold ? 'not-ready' : undefined;
}

function decisionOf(state: ServiceState | undefined): Decision | undefined {
  if (state?.unknown) return 'unknown';
  return state && (state.ready ? 'ready' : 'not-ready');
}

function nextState(
  state: ServiceState | undefined,
  name: string,
  decided: Decision,
  evidence: string,
  nowMs: number,
): ServiceState {
  const isSame = decisionOf(state) === decided;
  if (state && isSame && state.evidence === evidence) return state;
  const sinceMs = state && isSame ? state.sinceMs : nowMs;
  const ready = decided === 'ready';
  return { name, ready, ...(decided === 'unknown' ? { unknown: true } : {}), sinceMs, evidence };
}
