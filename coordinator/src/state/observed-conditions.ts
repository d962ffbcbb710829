import { LIFECYCLE_CONDITIONS } from '@rollcall/common/node-lifecycle.ts';
import { FIELD_MANAGER, KUBELET_CONDITIONS } from '@rollcall/common/well-known.ts';
import type { ManagedFieldsEntry, Node, NodeCondition } from '../kube/objects.ts';
import type { ConditionHistory } from './condition-history.ts';

export type { NodeCondition };

/** A condition of a Node, and where it is in the list. `heartbeatMs`: by the wall clock of who wrote it, if it writes any. */
export type ObservedCondition = Required<Omit<NodeCondition, 'lastHeartbeatTime'>> & {
  index: number;
  heartbeatMs?: number;
  /** `undefined` before the Node is stored. */
  history?: ConditionHistory;
};

/** The owners of the conditions of a Node, by type. */
export type ConditionOwners = {
  /** What rollcall applied. */
  ours: ReadonlySet<string>;
  /** What others brought, whether rollcall did or not: the names of their field managers, separated by commas. */
  rivals: ReadonlyMap<string, string>;
  /** The index in managedFields of our entry; -1 if there is none. */
  entry: number;
  /**
   * Conditions of which another manager changed a field, or whose origin is unknown: only a forced apply takes them.
   */
  touched: ReadonlySet<string>;
};

export const NO_CONDITION_OWNERS: ConditionOwners = {
  ours: new Set(),
  entry: -1,
  rivals: new Map(),
  touched: new Set(),
};

/**
 * Managers that are no rivals. The API server names `before-first-apply` for fields that were there when managedFields
 * were empty.
 */
const NOT_RIVALS: ReadonlySet<string> = new Set([FIELD_MANAGER, 'before-first-apply']);
const KEY = /^k:\{"type":"(.*)"\}$/;

/**
 * All conditions except the kubelet's, which are never ours and come with each heartbeat; `undefined` if the Node is
 * not whole.
 */
export function observeConditions(
  { status }: Node,
  intern: (text: string) => string,
): readonly ObservedCondition[] | undefined {
  return status?.conditions
    ?.map(({ type, status: is, reason = '', message = '', lastTransitionTime = null, lastHeartbeatTime }, index) => ({
      type: intern(type),
      status: intern(is),
      reason: intern(reason),
      message,
      lastTransitionTime,
      index,
      ...(lastHeartbeatTime ? { heartbeatMs: Date.parse(lastHeartbeatTime) } : {}),
    }))
    .filter(({ type }) => !KUBELET_CONDITIONS.includes(type));
}

/** Reads managedFields, which metadata alone contains as well. */
export function conditionOwners(managedFields: readonly ManagedFieldsEntry[]): ConditionOwners {
  const ours = new Set<string>();
  const rivals = new Map<string, string>();
  const touched = new Set<string>();
  let entry = -1;
  for (const [index, { manager = '', operation, fieldsV1 }] of managedFields.entries()) {
    const isOurs = manager === FIELD_MANAGER && operation === 'Apply';
    const status = fieldsV1?.['f:status'] as Record<string, Record<string, unknown>> | undefined;
    for (const [field, fields] of Object.entries(status?.['f:conditions'] ?? {})) {
      const type = KEY.exec(field)?.[1];
      if (type === undefined || KUBELET_CONDITIONS.includes(type)) continue;
      if (isOurs) {
        ours.add(type);
        entry = index;
      } else if (NOT_RIVALS.has(manager) || !isWhole(fields)) touched.add(type);
      else rivals.set(type, [rivals.get(type), manager].filter((each) => each !== undefined).join(', '));
    }
  }
  return ours.size + rivals.size + touched.size === 0 ? NO_CONDITION_OWNERS : { ours, entry, rivals, touched };
}

/** Whether a field manager owns the entry itself, and not only something in it. */
function isWhole(fields: unknown): boolean {
  return Object.hasOwn(Object(fields), '.');
}

/** Whether nothing differs that matters: when a condition became so, and where in the list it is, follows the rest. */
export function sameConditions(
  a: readonly ObservedCondition[] | undefined,
  b: readonly ObservedCondition[] | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  const isSame = (one: ObservedCondition, other: ObservedCondition | undefined) =>
    one.type === other?.type && one.status === other.status && one.reason === other.reason;
  return a.length === b.length && a.every((each, index) => isSame(each, b[index]));
}

export function sameOwners(a: ConditionOwners, b: ConditionOwners): boolean {
  if (a === b) return true;
  const isSame = (one: ReadonlySet<string>, other: ReadonlySet<string>) => one.symmetricDifference(other).size === 0;
  return (
    isSame(a.ours, b.ours) &&
    isSame(a.touched, b.touched) &&
    a.rivals.size === b.rivals.size &&
    [...a.rivals].every(([type, rival]) => b.rivals.get(type) === rival)
  );
}

/** Types of the lifecycle conditions that are True on a node; none while its conditions are not watched. */
export function lifecycleOf({ conditions = [] }: { conditions?: readonly ObservedCondition[] | undefined }): string[] {
  return conditions.flatMap(({ type, status }) =>
    status === 'True' && LIFECYCLE_CONDITIONS.includes(type) ? type : [],
  );
}
