import type { ObservedNode } from '../../state/observed-node.ts';
import { type Change, valueOn } from './changes.ts';
import { entryKey, type NodeIntent } from './intent.ts';
import type { NodePlan } from './plan.ts';

/** The changes of a Node by a plan. Values that the plan writes again without a change are left out. */
export function plannedChanges(plan: NodePlan, node: ObservedNode, intent: NodeIntent): Change[] {
  const { withdrawal, set, taints, conditions } = plan;
  const wanted = new Map<string, string | undefined>();
  const kinds = [
    { kind: 'label', field: 'labels', shared: node.shared },
    { kind: 'annotation', field: 'annotations', shared: undefined },
  ] as const;
  for (const { kind, field, shared } of kinds) {
    for (const key of withdrawal?.[field] ?? []) wanted.set(entryKey({ kind, key }), undefined);
    if (!set) continue;
    // A key that was applied before and is not in the set is let go of; it stays if another writer owns it as well.
    for (const key of node.owned[field]) if (!shared?.has(key)) wanted.set(entryKey({ kind, key }), undefined);
    for (const [key, value] of Object.entries(set[field])) wanted.set(entryKey({ kind, key }), value);
  }
  for (const key of taints?.remove ?? []) wanted.set(entryKey({ kind: 'taint', key }), undefined);
  for (const { key, value, effect } of taints?.add ?? []) {
    wanted.set(entryKey({ kind: 'taint', key }), `${value ?? ''}:${effect}`);
  }
  const statuses = conditions?.write === 'apply' ? [...conditions.conditions, ...conditions.waiting] : [];
  const gone = conditions?.write === 'remove' ? conditions.conditions : [];
  for (const { type, status } of statuses) wanted.set(entryKey({ kind: 'condition', key: type }), status);
  for (const { type } of gone) wanted.set(entryKey({ kind: 'condition', key: type }), undefined);
  return [...wanted].flatMap(([id, to]) => {
    const [kind, key] = [id.slice(0, id.indexOf(':')) as Change['kind'], id.slice(id.indexOf(':') + 1)];
    const from = valueOn(node, kind, key);
    return from === to
      ? []
      : [{ kind, key, from, to, reason: intent.get(id)?.reason ?? 'nothing requests it any more' }];
  });
}
