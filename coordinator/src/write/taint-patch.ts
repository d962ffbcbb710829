import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { AnnotationChange, NodeRef, TaintChange } from '../decide/intent/plan.ts';

/** An operation of a JSON patch (RFC 6902). */
export type Operation =
  | { op: 'test'; path: string; value: unknown }
  | { op: 'add'; path: string; value: unknown }
  | { op: 'remove'; path: string };

const ANNOTATIONS = '/metadata/annotations';
// As RFC 6901 writes a slash.
const KEYS = `${ANNOTATIONS}/${KEYS_ANNOTATION.replace('/', '~1')}`;

/**
 * The JSON patch that changes some taints and leaves the others as they are, in order, with what the Node says of them.
 * `spec.taints` is one atomic list: each step tests what it relies on, so that the patch fails where the list has become
 * another. One key may have several taints, with different effects.
 */
export function taintPatch({ uid }: NodeRef, { add, remove, observed, keys }: TaintChange): Operation[] {
  const operations: Operation[] = [{ op: 'test', path: '/metadata/uid', value: uid }];
  // From the end, so that the indexes of those before stay true.
  for (const [index, { key, effect }] of [...observed.entries()].toReversed()) {
    if (!remove.includes(key)) continue;
    const path = `/spec/taints/${index}`;
    operations.push({ op: 'test', path: `${path}/key`, value: key });
    operations.push({ op: 'test', path: `${path}/effect`, value: effect });
    operations.push({ op: 'remove', path });
  }
  if (observed.length > 0) {
    for (const taint of add) operations.push({ op: 'add', path: '/spec/taints/-', value: taint });
  } else if (add.length > 0) {
    // Null also matches a list that is not there. Without the test, the list of another client would be replaced.
    operations.push({ op: 'test', path: '/spec/taints', value: null }, { op: 'add', path: '/spec/taints', value: add });
  }
  return keys ? [...operations, ...annotationPatch(keys)] : operations;
}

function annotationPatch({ before, after, intoNone }: AnnotationChange): Operation[] {
  if (intoNone) {
    return [
      { op: 'test', path: ANNOTATIONS, value: null },
      { op: 'add', path: ANNOTATIONS, value: { [KEYS_ANNOTATION]: after } },
    ];
  }
  const test: Operation = { op: 'test', path: KEYS, value: before ?? null };
  if (after === undefined) return [test, { op: 'remove', path: KEYS }];
  return [test, { op: 'add', path: KEYS, value: after }];
}
