import { WITHDRAWN_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Claim, Consequence, JudgedNode, LabelWishes } from './labeler.ts';
import { labelsAfter } from './labels-after.ts';

/** Far more than a node loses at a time. */
const ENTRIES_MAX = 50;

/**
 * Notes on the node which labels rollcall took from it, and the values that they had, until they are back: those who
 * evict pods because of it have to know it after a restart, too. `ignored` are labels that nobody is evicted for.
 */
export function withdrawnLabels(ignored: ReadonlySet<string>): Consequence {
  const annotation = { kind: 'annotation', key: WITHDRAWN_LABELS_ANNOTATION } as const;
  return {
    name: 'withdrawn-labels',
    claims: (node, wishes): Claim[] => {
      const before = node.annotations[annotation.key];
      const entries = Object.entries(withdrawnFrom(node, wishes, ignored)).sort(([a], [b]) => (a < b ? -1 : 1));
      if (entries.length > 0) {
        const value = JSON.stringify(Object.fromEntries(entries.slice(0, ENTRIES_MAX)));
        const reason = 'lists the labels that rollcall took from the node';
        return [{ ...annotation, value, stance: 'want', ownership: 'forced', reason }];
      }
      if (before === undefined) return [];
      const ownership = node.ownedAnnotations.has(annotation.key) ? 'forced' : 'exclusive';
      return [
        { ...annotation, value: '', stance: 'withhold', ownership, reason: 'every label that was taken is back' },
      ];
    },
  };
}

/** The labels noted in the annotation; none where it cannot be read. */
export function parseWithdrawnLabels(text: string | undefined): Record<string, string> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return {};
    return Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each === 'string'));
  } catch {
    return {};
  }
}

function withdrawnFrom(
  node: JudgedNode,
  wishes: LabelWishes,
  ignored: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const after = labelsAfter(node, wishes);
  const noted = parseWithdrawnLabels(node.annotations[WITHDRAWN_LABELS_ANNOTATION]);
  const isOurs = (key: string) => node.ownedLabels.has(key) || wishes.get(key)?.ownership === 'exclusive';
  const going = Object.entries(node.labels).filter(([key]) => isOurs(key) && !ignored.has(key));
  return Object.fromEntries([...Object.entries(noted), ...going].filter(([key, value]) => after[key] !== value));
}
