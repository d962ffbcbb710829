/** What a write changed of a Node's keys, and what its answer says of them. */

import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { entryKey } from '../decide/intent/intent.ts';
import type { SeenNode, Write } from '../decide/intent/kinds/kind.ts';
import { KINDS, valueOn, WRITES } from '../decide/intent/kinds/kinds.ts';
import type { NodeKeyRef } from '../decide/intent/plan.ts';
import type { Node } from '../kube/objects.ts';
import type { RefusedKey, WrittenKey } from './skipped-keys.ts';

/** `seen` is the Node before the write, `answer` after it. A key that was so before is not written. */
export function writtenKeys(write: Write, seen: SeenNode | undefined, { metadata, spec, status }: Node): WrittenKey[] {
  const { labels = {}, annotations = {} } = metadata;
  const after = { labels, annotations, taints: spec?.taints, conditions: status?.conditions };
  const isSo = (change: NodeKeyRef & { wanted: string | undefined }) =>
    seen && KINDS[change.kind].isShown(seen) && valueOn(seen, change) === change.wanted;
  return WRITES[write.write]
    .changes(write)
    .filter((change) => !isSo(change))
    .map((change) => ({ ...change, held: valueOn(after, change) === change.wanted }));
}

/** The keys that a write was refused for; without those that the write has nothing of. */
export function refusedIn(
  write: Write,
  refused: readonly { ref: NodeKeyRef; message: string }[],
  { cause, ahead = [] }: Pick<RefusedKey, 'cause'> & { ahead?: readonly string[] | undefined },
): RefusedKey[] {
  const changes = new Map(WRITES[write.write].changes(write).map((change) => [entryKey(change), change]));
  return refused.flatMap(({ ref, message }) => {
    const { wanted, keepsAway = false } = changes.get(entryKey(ref)) ?? {};
    // No conflict is about a key that is only let go of.
    if (cause === 'foreign' && wanted === undefined) return [];
    // A label of a pool or a rule may be refused for good.
    const isUrgent = keepsAway && (wanted !== undefined || ahead.includes(ref.key));
    return { ...ref, cause, wanted, message, keepsAway: isUrgent };
  });
}

/** The field managers of a key other than ours, separated by commas; `undefined` when managedFields names none. */
export function writersOf({ metadata }: Node, { kind, key }: NodeKeyRef): string | undefined {
  const isIn = (fields: unknown) =>
    KINDS[kind].ownedAs(key).reduce((at, part) => (at as Record<string, unknown> | undefined)?.[part], fields);
  const managers = (metadata.managedFields ?? [])
    .filter(({ manager, fieldsV1 }) => manager !== FIELD_MANAGER && isIn(fieldsV1) !== undefined)
    .map(({ manager }) => manager);
  return managers.length === 0 ? undefined : [...new Set(managers)].join(', ');
}
