import {
  IMPLIED_LABELS_ANNOTATION,
  MANAGED_LABELS_ANNOTATION,
  STARTUP_TAINT,
  WITHDRAWN_LABELS_ANNOTATION,
} from '@rollcall/common/well-known.ts';
import type { ObservedNode } from '../fleet/observed-node.ts';
import { parseManagedLabels } from '../labelers/managed-labels.ts';
import { isUntouchable } from '../labelers/pool-keys.ts';
import type { Service } from '../services.ts';
import { entryKey, type IntentEntry, type NodeIntent } from './intent.ts';
import type { NodePlan } from './plan.ts';
import { planNode } from './plan-node.ts';

/** Annotations that go whoever wrote them last. */
export const PRUNED_ANNOTATIONS: ReadonlySet<string> = new Set([
  MANAGED_LABELS_ANNOTATION,
  IMPLIED_LABELS_ANNOTATION,
  WITHDRAWN_LABELS_ANNOTATION,
]);

/**
 * The plan that removes everything that rollcall owns on a node: labels and taints of services and labels of its pool,
 * whoever set them, and what it applied; what others applied as well stays.
 */
export function prunePlan(
  node: ObservedNode,
  services: readonly Service[],
  poolLabels: readonly string[],
): NodePlan | undefined {
  const gone = (kind: IntentEntry['kind'], key: string): [string, IntentEntry] => [
    entryKey({ kind, key }),
    {
      kind,
      key,
      value: 'true',
      stance: 'withhold',
      ownership: 'exclusive',
      reason: 'rollcall is being removed',
      labeler: 'prune',
      overruled: [],
    },
  ];
  const managed = parseManagedLabels(node.annotations[MANAGED_LABELS_ANNOTATION]) ?? new Set<string>();
  const reserved = { poolLabels, ownLabels: [], domains: [] };
  const nothing: NodeIntent = new Map([
    ...services.flatMap(({ label, taint }) => [gone('label', label), gone('taint', taint)]),
    ...[...managed].filter((key) => !isUntouchable(key, reserved)).map((key) => gone('label', key)),
    ...[...PRUNED_ANNOTATIONS].map((key) => gone('annotation', key)),
    gone('taint', STARTUP_TAINT),
  ]);
  return planNode(node, nothing, () => undefined);
}
