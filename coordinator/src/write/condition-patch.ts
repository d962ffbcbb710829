import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { NodeRef } from '../decide/intent/plan.ts';
import type { Operation } from './taint-patch.ts';

/** The JSON patch that removes conditions, if each is still where it was seen. */
export function conditionPatch({ uid }: NodeRef, conditions: readonly { type: string; index: number }[]): Operation[] {
  // From the end, so that the indexes of those before stay true.
  const removals = conditions
    .toSorted((a, b) => b.index - a.index)
    .flatMap(({ type, index }): Operation[] => [
      { op: 'test', path: `/status/conditions/${index}/type`, value: type },
      { op: 'remove', path: `/status/conditions/${index}` },
    ]);
  return [{ op: 'test', path: '/metadata/uid', value: uid }, ...removals];
}

/** The JSON patch by which rollcall no longer owns anything of the status, and nothing of it changes. */
export function disownPatch({ uid }: NodeRef, entry: number): Operation[] {
  const path = `/metadata/managedFields/${entry}`;
  const test = (field: string, value: string): Operation => ({ op: 'test', path: `${path}/${field}`, value });
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    test('manager', FIELD_MANAGER),
    test('operation', 'Apply'),
    test('subresource', 'status'),
    { op: 'remove', path },
  ];
}
