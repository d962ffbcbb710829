import { CHECK_KINDS, PROBE_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { probeOf } from '@rollcall/coordinator/decide/readiness/probes.test-fixtures.ts';
import { portNamed, SHAPES, type ShapedKind } from '../model/kinds.ts';

/** A NodeService as a history has it. */
export type ServiceSpec = {
  name: string;
  port: number;
  /** Kind of its probe, if any. */
  probe: string | undefined;
  pods: boolean;
  /** What else it asks for, which the coordinator sees, or counts of what the agent reports. */
  seen: ShapedKind | undefined;
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
/** A probe that names no port is for this one. */
export const FIRST_PORT = 9000;
/** The longest period of a probe that holds no connection, which shows a moment later than others what has changed. */
const UNHELD_MS = 10_000;

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
  const { name, probe, pods, seen, port, tier, taint, condition } = service;
  const { failureThreshold, successThreshold } = service;
  const period = hasOwnPeriod(service) ? { period: `${periodOf(service)}ms` } : {};
  const times = { ...period, timeout: `${TIMEOUT_MS}ms`, failureThreshold, successThreshold };
  return {
    ...(tier ? { nodeSelector: { matchLabels: { [TIER_LABEL]: tier } } } : {}),
    checks: [
      ...(pods ? [{ name: 'pod', pods: { namespace: 'apps', selector: { matchLabels: { app: name } } } }] : []),
      ...(probe
        ? [
            {
              name: 'port',
              [probe]: { ...probeOf(probe, port), ...(pods && isHeldOpen(probe) ? { host: 'Node' } : {}) },
              ...times,
            },
          ]
        : []),
      ...(seen ? [{ name: 'seen', [seen]: SHAPES[seen].check }] : []),
    ],
    publish: {
      label: labelOf(service),
      ...(taint ? { taint: { key: taintOf(service), effect: 'NoSchedule', maxUnavailable: '100%' } } : {}),
      ...(condition ? { condition: conditionOf(service) } : {}),
    },
  };
}

/** The longest time until the agent asks a service that it found ready. */
export function longestPeriodMs(service: ServiceSpec): number {
  return hasOwnPeriod(service) ? periodOf(service) : IDLE_PERIOD_MS;
}

/** What all nodes share is asked less often by default. */
function hasOwnPeriod(service: ServiceSpec): boolean {
  return periodOf(service) !== DEFAULT_PERIOD_MS || (service.probe !== undefined && isClusterKind(service.probe));
}

/** Whether a probe of this kind finds a service healthy that is in this state. */
export function isHealthy({ probe }: Pick<ServiceSpec, 'probe'>, state: 'up' | 'hangs' | 'down'): boolean {
  if (probe === undefined || state === 'up') return true;
  return state === 'hangs' && passesWhileHung(probe);
}

/** The kernel takes connections for a process that hangs, and keeps its files. */
export function passesWhileHung(probe: string): boolean {
  return ['tcp', 'unix', 'file'].includes(probe);
}

/** Whether a connection is held to the port that is asked, which its process takes along. */
export function isHeldOpen(probe: string): boolean {
  return 'port' in probeOf(probe, 1);
}

/** Whether a probe asks for what all nodes share, so that its failure may be held against none. */
export function isClusterKind(probe: string): boolean {
  return PROBE_KINDS[probe]?.isOfCluster === true;
}

/** The port that its probe asks, or that stands for what it asks. */
export function portAsked({ probe, port }: Pick<ServiceSpec, 'probe' | 'port'>): number {
  return probe === undefined ? port : portNamed(probeOf(probe, port), FIRST_PORT);
}

export function periodOf({ probe, periodMs }: ServiceSpec): number {
  return probe === undefined || isHeldOpen(probe) ? periodMs : Math.min(periodMs, UNHELD_MS);
}

/** Whether an agent has to be heard for it. */
export function needsAgent({ probe, seen }: ServiceSpec): boolean {
  return probe !== undefined || (seen !== undefined && CHECK_KINDS[seen]?.voucher === 'agent');
}
