import type { SeenNode } from '../decide/intent/kinds/kind.ts';
import { taintText } from '../decide/intent/kinds/taint.ts';
import type { NodePlan } from '../decide/intent/plan.ts';
import type { SkippedKeys } from './skipped-keys.ts';

/** The Node that a plan is for: it has what is to go, and nothing that is to come. */
export function nodeOf({ node, withdrawal, taints, conditions }: NodePlan): SeenNode {
  const valued = (keys: readonly string[] = []) => Object.fromEntries(keys.map((key) => [key, 'there']));
  const going = conditions?.write === 'remove' ? conditions.conditions : [];
  return {
    ...node,
    labels: valued(withdrawal?.labels),
    annotations: valued(withdrawal?.annotations),
    owned: { labels: new Set(), annotations: new Set() },
    taints: taints?.observed ?? [],
    conditions: going.map(({ type }) => ({ type, status: 'True' })),
  };
}

/** The plan without the keys that are left out for now, as the planner makes it; of a Node that is not seen nothing is contested. */
export function leavingOut(plan: NodePlan, skipped: SkippedKeys, seen?: SeenNode): NodePlan {
  const { ask } = skipped.asking(seen ?? nodeOf(plan));
  const { node, ahead, withdrawal, set, taints, conditions, foreign } = plan;
  const isOpen = (kind: 'label' | 'annotation' | 'taint' | 'condition', key: string, wanted?: string) =>
    [undefined, ...(seen ? [] : ['contested'])].includes(ask({ kind, key }, wanted));
  const made: NodePlan = { node, ...(ahead && { ahead }) };
  const labels = withdrawal?.labels.filter((key) => isOpen('label', key)) ?? [];
  const annotations = withdrawal?.annotations.filter((key) => isOpen('annotation', key)) ?? [];
  if (labels.length + annotations.length > 0) made.withdrawal = { labels, annotations };
  if (set) {
    const open = (kind: 'label' | 'annotation', values: Record<string, string>) =>
      Object.fromEntries(Object.entries(values).filter(([key, value]) => isOpen(kind, key, value)));
    made.set = { ...set, labels: open('label', set.labels), annotations: open('annotation', set.annotations) };
    const sizeOf = ({ labels, annotations }: typeof set) => Object.keys({ ...labels, ...annotations }).length;
    if (sizeOf(made.set) === 0 && sizeOf(set) > 0) delete made.set;
  }
  if (taints) {
    const add = taints.add.filter((taint) => isOpen('taint', taint.key, taintText(taint)));
    const remove = taints.remove.filter((key) => taints.add.some((each) => each.key === key) || isOpen('taint', key));
    if (add.length + remove.length > 0) made.taints = { ...taints, add, remove };
  }
  if (conditions?.write === 'apply') {
    const isLeft = ({ type, status }: { type: string; status: string }) => isOpen('condition', type, status);
    const left = conditions.conditions.filter(isLeft);
    const news = conditions.news.filter((type) => left.some((each) => each.type === type));
    if (news.length > 0) made.conditions = { ...conditions, conditions: left, news };
  } else if (conditions?.write === 'remove') {
    const left = conditions.conditions.filter(({ type }) => isOpen('condition', type));
    if (left.length > 0) made.conditions = { ...conditions, conditions: left };
  } else if (conditions) made.conditions = conditions;
  const unskipped = foreign?.filter(({ kind, key, wanted }) => isOpen(kind, key, wanted)) ?? [];
  if (unskipped.length > 0) made.foreign = unskipped;
  return made;
}
