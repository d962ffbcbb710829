import type { ConditionSettings } from '@rollcall/common/checks/kinds/condition.ts';
import type { Moment } from '@rollcall/common/clock.ts';
import { selects } from '../model/label-selector.ts';
import { type ConditionCheck, conditionChecksOf, type Service } from '../model/services.ts';
import { saysReady } from './agent-signs.ts';
import { lastingOf } from './condition-history.ts';
import { Doubts } from './doubts.ts';
import type { NodeRecord } from './node-record.ts';
import type { ObservedCondition } from './observed-conditions.ts';
import type { ObservedNode } from './observed-node.ts';
import { type ObservedPod, podsOfCheck, readyPodIn } from './observed-pod.ts';

/** What is known of a node that bears on a condition. */
export type ConditionSight = Pick<ObservedNode, 'conditions' | 'createdAtMs'> & { pods: readonly ObservedPod[] };

type NodeSight = ConditionSight &
  Pick<ObservedNode, 'uid' | 'labels' | 'annotations' | 'owned' | 'ownerless' | 'conditionOwners' | 'taints'>;

/** Why nothing vouches for a condition on a node, as a clause for people; `undefined` if something does. */
export function doubtOf(
  { reporter, maxHeartbeatAgeMs, type }: ConditionSettings,
  sight: ConditionSight,
  now: Moment,
): string | undefined {
  if (reporter) {
    const pods = podsOfCheck({ settings: reporter }, sight.pods);
    const [pod] = pods;
    if (!pod) return 'no pod of its reporter is on the node';
    if (!readyPodIn(pods, sight)) return `its reporter ${pod.namespace}/${pod.name} is not Ready`;
  }
  const condition = conditionIn(sight.conditions, type);
  if (maxHeartbeatAgeMs === undefined || !condition) return undefined;
  const { heartbeatMs = Number.NEGATIVE_INFINITY, history } = condition;
  const quietMs = history ? now.monotonicMs - history.heartbeatSeenMs : 0;
  if (Math.max(now.wallMs - heartbeatMs, quietMs) <= maxHeartbeatAgeMs) return undefined;
  return heartbeatMs === Number.NEGATIVE_INFINITY
    ? 'it has no heartbeat'
    : `its last heartbeat is older than ${maxHeartbeatAgeMs / 1000} s`;
}

export function conditionIn(
  conditions: readonly ObservedCondition[] | undefined,
  type: string,
): ObservedCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export type ReportersOptions = {
  /** How long a reporter may be away. */
  windowMs: number;
  /** Share of nodes without a reporter, of all or of a pool, from which that is not held against a node. */
  guardPercent: number;
  services: () => readonly Service[];
  /** `undefined` while the pods of a reporter are not known. */
  sight: (node: string, check: ConditionCheck) => NodeSight | undefined;
  onChange: (node: string) => void;
};

/**
 * Whether the reporters of conditions are alive, node by node. What is not vouched for counts as silence after the window:
 * a dead reporter is to its condition what a dead agent is to a probe. Nodes count that a reporter vouched for once.
 */
export function doubtsOfReporters(
  { windowMs, guardPercent, services, sight, onChange }: ReportersOptions,
  records: () => Iterable<NodeRecord>,
): Doubts<ConditionCheck> {
  return new Doubts<ConditionCheck>(
    {
      ...{ subject: 'reporters', guardPercent, onChange },
      asked: () => services().flatMap((service) => conditionChecksOf(service).map((check) => ({ check, service }))),
      poolOf: ({ presence }) => presence.pool,
      find: ({ check, service }, { name }, now, counted) => {
        const seen = sight(name, check);
        if (!seen || !selects(service.nodeSelector, seen.labels)) return undefined;
        const { type, forMs = 0 } = check.settings;
        const isDoubted = doubtOf(check.settings, seen, now) !== undefined;
        // What the Node says was vouched for when the term before said so, unless another check could take its place.
        const wasVouched = service.checks.includes(check) && saysReady(seen, service);
        const counts = counted === 'always' || !isDoubted || wasVouched ? 'always' : 'while-no-other';
        const condition = conditionIn(seen.conditions, type);
        const lasting = condition && lastingOf(condition, forMs, seen, now).state;
        return { counts, loss: isDoubted ? 'reporter' : undefined, lasting };
      },
      // Guards count before the first would lose anything.
      timesOf: () => ({ windowMs, countedMs: windowMs / 2 }),
      isKnown: () => true,
      nameOf: ({ id }, group) => `${id}, ${group}`,
    },
    records,
  );
}
