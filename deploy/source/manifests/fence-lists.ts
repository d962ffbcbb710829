// CEL about the annotations that list what rollcall set on a Node.

/** Most keys in the list of keys. What is read of a longer one, which a kubelet may write, costs little. */
export const IDS_MAX = 1000;

/** The keys in the text of a list, and the empty string where there are none. */
export function keysIn(list: string): string {
  const noise = ['[', ']', '"', ' ', '\\n', '\\r', '\\t'];
  return `${list}${noise.map((each) => `.replace('${each}', '')`).join('')}.split(',')`;
}

/**
 * The ids, `kind:key` after a quotation mark, in the text of the list of keys with their origins, and one more than there
 * may be. No key has a quotation mark in it. To filter a list costs the square of its length.
 */
export function idsIn(list: string): string {
  return `${list}.findAll('"(label|taint|condition):[^"]+', ${IDS_MAX + 1})`;
}

/** Whether the Node listed the key `k` of this kind as set by rollcall. */
export function wasListed(kind: 'label' | 'taint' | 'condition'): string {
  return `(('"${kind}:' + k) in variables.oldKeyIds || k in variables.earlierKeys)`;
}
