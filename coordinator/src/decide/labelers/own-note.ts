import type { Claim, EvaluatedNode } from './labeler.ts';

/**
 * An annotation that rollcall keeps for itself; without a value it is removed. Where it is ours it changes in the same
 * request as the labels that it is about, and in a separate request where another writer changed it.
 */
export function ownNote(
  { annotations, ownedAnnotations }: EvaluatedNode,
  key: string,
  { value, reason }: { value: string | undefined; reason: string },
): Claim[] {
  const note = { kind: 'annotation', key, reason, cause: 'evidence' } as const;
  if (value !== undefined) return [{ ...note, value, stance: 'present', ownership: 'forced' }];
  if (annotations[key] === undefined) return [];
  const ownership = ownedAnnotations.has(key) ? 'forced' : 'exclusive';
  return [{ ...note, value: '', stance: 'absent', ownership }];
}
