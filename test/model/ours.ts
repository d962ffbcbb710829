import { FIELD_MANAGER, KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import { PUBLISHED_IDS } from './node-services.ts';
import { changedKeys, valueOn } from './sights.ts';
import type { NodeTruth } from './truth.ts';
import type { World } from './world.ts';

/** So long after another client's edit rollcall may not know of it. */
const EDIT_MS = 3000;

/** Whether another client set or removed the key a moment ago. */
export function isEditedLately({ nowMs }: World, { editedMs }: NodeTruth, id: string): boolean {
  return nowMs - (editedMs.get(id) ?? Number.NEGATIVE_INFINITY) < EDIT_MS;
}

/** Whether an owner of fields stands for those that were there when managedFields were reset. */
export function isBeforeFirstApply(owner: string): boolean {
  return owner.startsWith('Update before-first-apply');
}

/** Whether an owner of fields is what rollcall applied, to the Node or to its status. */
export function isOwnApply(owner: string): boolean {
  return owner.startsWith('Apply rollcall');
}

/** Whether nothing on the Node shows that a key is rollcall's alone: the list was removed, and managedFields were reset. */
export function isUnknowable({ nodes }: World, { name, unlisted }: NodeTruth, id: string): boolean {
  if (!unlisted.has(id)) return false;
  if (id.startsWith('taint:')) return true;
  return ![...nodes.ownersOf(name)].some(([owner, has]) => isOwnApply(owner) && has.has(id));
}

/** Keys of NodeServices are rollcall's from when it sets one until that is gone, whatever else is below the key of a taint. */
export function noteOurs(truth: NodeTruth, { node, before, manager }: NodeWrite, nowMs: number): void {
  if (!before) return;
  const list = node.metadata.annotations?.[KEYS_ANNOTATION];
  for (const id of truth.unlisted) if (list?.includes(JSON.stringify(id))) truth.unlisted.delete(id);
  for (const id of changedKeys(before, node)) {
    const value = valueOn(node, id);
    const isPublished = PUBLISHED_IDS.includes(id);
    const parts = partsOf(id, value);
    const [added] = parts.filter((part) => !partsOf(id, valueOn(before, id)).includes(part));
    if (manager === FIELD_MANAGER && isPublished && added !== undefined) truth.ours.set(id, added);
    else if (!parts.includes(truth.ours.get(id) ?? '') && (manager === FIELD_MANAGER || value === undefined))
      truth.ours.delete(id);
    if (value === undefined && id.startsWith('taint:')) truth.claims.delete(id);
    if (manager !== FIELD_MANAGER && isPublished) truth.editedMs.set(id, nowMs);
  }
}

/** A key has one value, but for that of a taint, which has one for each effect. */
function partsOf(id: string, value: string | undefined): string[] {
  if (value === undefined) return [];
  return id.startsWith('taint:') ? value.split(',') : [value];
}
