import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import { PUBLISHED_IDS } from './node-services.ts';
import { changedKeys, valueOn } from './sights.ts';
import type { NodeTruth } from './truth.ts';

/** Keys of NodeServices are rollcall's from when it sets one until that is gone. */
export function noteOurs(truth: NodeTruth, { node, before, manager }: NodeWrite, nowMs: number): void {
  if (!before) return;
  for (const id of changedKeys(before, node)) {
    const value = valueOn(node, id);
    const isPublished = PUBLISHED_IDS.includes(id);
    if (value === undefined) truth.ours.delete(id);
    else if (manager === FIELD_MANAGER && isPublished) truth.ours.set(id, value);
    if (value === undefined && id.startsWith('taint:')) truth.claims.delete(id);
    if (manager !== FIELD_MANAGER && isPublished) truth.editedMs.set(id, nowMs);
  }
}
