import { WITHDRAWN_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Cause } from '../../model/inventory/cause.ts';
import { parseAnnotation, textsIn } from '../../state/json-annotation.ts';
import { keysOn, listedKey, type Origin } from '../../state/node-keys.ts';
import { type Claim, type Consequence, type EvaluatedNode, type LabelWishes, labelAfter, ownNote } from './labeler.ts';

/** A label that rollcall takes: why it had set it, and why it takes it; `undefined` where that is not known. */
export type WithdrawnLabel = { label: string; origin: Origin | undefined; cause: Cause | undefined };

/** Far more than a node loses at a time. Of more, those that went last are kept. */
const ENTRIES_MAX = 50;

/**
 * Notes on the node which labels rollcall took from it, and the values that they had, the latest last, until they are
 * back: the evictions because of them have to continue after a restart. No pod is evicted for labels that are ignored.
 */
export function withdrawnLabels(isIgnored: (withdrawn: WithdrawnLabel) => boolean): Consequence {
  return {
    name: 'withdrawn-labels',
    claims: (node, wishes): Claim[] => {
      const listed = keysOn(node);
      // A service may have come, or gone, since the label was listed.
      const originsOf = (key: string) => [listed.get(listedKey('label', key)), wishes.get(key)?.origin];
      // A label that the node lost before is noted no longer once nothing in force requests it.
      const isNoted = (key: string) =>
        !originsOf(key).some((origin) => isIgnored({ label: key, origin, cause: wishes.get(key)?.cause }));
      const entries = [...withdrawnFrom(node, wishes)].filter(([key]) => isNoted(key)).slice(-ENTRIES_MAX);
      const value = entries.length > 0 ? JSON.stringify(Object.fromEntries(entries)) : undefined;
      const reason = value
        ? 'lists the labels that rollcall removed from the node'
        : 'every label that was removed is back';
      return ownNote(node, WITHDRAWN_LABELS_ANNOTATION, { value, reason });
    },
  };
}

/** The labels noted in the annotation; none where it cannot be read. */
export function parseWithdrawnLabels(text: string | undefined): Record<string, string> {
  return Object.fromEntries(textsIn(parseAnnotation(text)));
}

/**
 * The noted and the newly removed labels. A wanted label that is not back yet stays noted, since another writer may
 * stand in the way.
 */
function withdrawnFrom(node: EvaluatedNode, wishes: LabelWishes): Map<string, string> {
  const noted = Object.entries(parseWithdrawnLabels(node.annotations[WITHDRAWN_LABELS_ANNOTATION]));
  const taken = Object.entries(node.takenLabels ?? {});
  const withdrawn = new Map([...noted, ...taken].filter(([key, value]) => node.labels[key] !== value));
  for (const key of keysOfOurs(node, wishes)) {
    const value = node.labels[key];
    if (value === undefined || labelAfter(node, wishes, key) === value) continue;
    withdrawn.delete(key);
    withdrawn.set(key, value);
  }
  return withdrawn;
}

function* keysOfOurs({ ownedLabels }: EvaluatedNode, wishes: LabelWishes): Iterable<string> {
  yield* ownedLabels;
  for (const [key, { ownership }] of wishes) if (ownership === 'exclusive' && !ownedLabels.has(key)) yield key;
}
