/** A NodeService as a history has it. */
export type ServiceSpec = {
  name: string;
  port: number;
  /** Kind of its probe, if any. */
  probe: 'tcp' | 'tls' | undefined;
  pods: boolean;
  periodMs: number;
  failureThreshold: number;
  successThreshold: number;
  /** For nodes with this label alone. */
  tier: string | undefined;
  taint: boolean;
  condition: boolean;
};

export const TIER_LABEL = 'example.com/tier';
export const TIMEOUT_MS = 1000;
/** The period of agents where a check has none of its own, and the one at rest. */
const DEFAULT_PERIOD_MS = 1000;
const IDLE_PERIOD_MS = 5000;

export function labelOf({ name }: Pick<ServiceSpec, 'name'>): string {
  return `service.rollcall.dev/${name}`;
}

export function taintOf({ name }: Pick<ServiceSpec, 'name'>): string {
  return `readiness.k8s.io/${name}`;
}

export function conditionOf({ name }: Pick<ServiceSpec, 'name'>): string {
  return `service.rollcall.dev/${name}`;
}

/** The spec of the NodeService, as a person would write it. */
export function specOf(service: ServiceSpec): object {
  const { name, probe, pods, port, tier, taint, condition } = service;
  const { periodMs, failureThreshold, successThreshold } = service;
  const period = periodMs === DEFAULT_PERIOD_MS ? {} : { period: `${periodMs}ms` };
  const times = { ...period, timeout: `${TIMEOUT_MS}ms`, failureThreshold, successThreshold };
  return {
    ...(tier ? { nodeSelector: { matchLabels: { [TIER_LABEL]: tier } } } : {}),
    checks: [
      ...(pods ? [{ name: 'pod', pods: { namespace: 'apps', selector: { matchLabels: { app: name } } } }] : []),
      ...(probe ? [{ name: 'port', [probe]: { port, ...(pods ? { host: 'Node' } : {}) }, ...times }] : []),
    ],
    publish: {
      label: labelOf(service),
      ...(taint ? { taint: { key: taintOf(service), effect: 'NoSchedule', maxUnavailable: '100%' } } : {}),
      ...(condition ? { condition: conditionOf(service) } : {}),
    },
  };
}

/** The longest time until the agent asks a service that it found ready. */
export function longestPeriodMs({ periodMs }: Pick<ServiceSpec, 'periodMs'>): number {
  return periodMs === DEFAULT_PERIOD_MS ? IDLE_PERIOD_MS : periodMs;
}

/** Whether a probe of this kind finds a service healthy that is in this state. */
export function isHealthy({ probe }: Pick<ServiceSpec, 'probe'>, state: 'up' | 'hangs' | 'down'): boolean {
  if (probe === undefined || state === 'up') return true;
  // The kernel takes connections for a process that hangs.
  return state === 'hangs' && probe === 'tcp';
}
