import { type NodeKeyRef, taintText } from '../decide/intent/plan.ts';
import type { Taint } from '../kube/objects.ts';

/** A Node as the planner sees it. */
export type SeenNode = {
  name: string;
  uid: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  /** What rollcall applied. */
  owned: { labels: ReadonlySet<string>; annotations: ReadonlySet<string> };
  taints?: readonly Taint[] | undefined;
  conditions?: readonly { type: string; status: string }[] | undefined;
  /** The conditions that rollcall owns, and who else owns conditions. */
  conditionOwners?: { ours: ReadonlySet<string>; rivals: ReadonlyMap<string, string> };
};

/** Whether the Node shows keys of this kind: an answer with metadata alone shows no taints and no conditions. */
export function isShown(node: SeenNode, kind: NodeKeyRef['kind']): boolean {
  return kind === 'taint' ? node.taints !== undefined : kind !== 'condition' || node.conditions !== undefined;
}

/** The value of a key on the Node: of a condition its status, of a taint its value and effect. */
export function seenValue(node: SeenNode, { kind, key }: NodeKeyRef): string | undefined {
  switch (kind) {
    case 'label':
      return node.labels[key];
    case 'annotation':
      return node.annotations[key];
    case 'condition':
      return node.conditions?.find(({ type }) => type === key)?.status;
    case 'taint': {
      // A key may have several taints with different effects.
      const taints = node.taints?.filter((taint) => taint.key === key) ?? [];
      return taints.length === 0 ? undefined : taints.map(taintText).join();
    }
  }
}
