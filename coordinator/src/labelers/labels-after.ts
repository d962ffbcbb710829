import { emptyRecord } from '../fleet/observed-node.ts';
import type { JudgedNode, LabelWishes } from './labeler.ts';

/** The labels that a node has once all that is wished is written. What rollcall alone applied, and nobody wishes, goes. */
export function labelsAfter(node: JudgedNode, wishes: LabelWishes): Record<string, string> {
  const { labels, ownedLabels, sharedLabels } = node;
  const after = emptyRecord();
  for (const [key, value] of Object.entries(labels)) {
    if (!ownedLabels.has(key) || sharedLabels.has(key)) after[key] = value;
  }
  for (const [key, { stance, ownership, value }] of wishes) {
    const there = labels[key];
    if (stance === 'hold') {
      if (there !== undefined) after[key] = there;
    } else if (stance === 'withhold') {
      if (ownership === 'exclusive') delete after[key];
    } else if (ownership !== 'shared' || there === undefined || ownedLabels.has(key)) {
      after[key] = value;
    }
  }
  return after;
}
