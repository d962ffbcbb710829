import { emptyRecord } from '../../state/observed-node.ts';
import type { EvaluatedNode, LabelWishes } from './labeler.ts';

/**
 * The labels that a node has once all claims are written. Labels that only rollcall applied, and that no labeler
 * claims, go.
 */
export function labelsAfter(node: EvaluatedNode, wishes: LabelWishes): Record<string, string> {
  const after = emptyRecord();
  const put = (key: string) => {
    const value = labelAfter(node, wishes, key);
    if (value !== undefined) after[key] = value;
  };
  for (const key of Object.keys(node.labels)) put(key);
  for (const key of wishes.keys()) if (node.labels[key] === undefined) put(key);
  return after;
}

/** The same for one label; `undefined` where it is not there then. */
export function labelAfter(node: EvaluatedNode, wishes: LabelWishes, key: string): string | undefined {
  const there = node.labels[key];
  const isOurs = node.ownedLabels.has(key);
  const kept = isOurs && !node.sharedLabels.has(key) ? undefined : there;
  const wish = wishes.get(key);
  switch (wish?.stance) {
    case 'keep':
      return there;
    case 'absent':
      return wish.ownership === 'exclusive' ? undefined : kept;
    case 'present':
      return wish.ownership !== 'shared' || there === undefined || isOurs ? wish.value : kept;
  }
  return kept;
}
