/** A list of strings in CEL. None of them may hold a quote or a backslash, as keys of labels and domains do not. */
export function celList(values: readonly string[]): string {
  return `[${values.map((each) => `'${each}'`).join(', ')}]`;
}

/** A CEL expression without the indentation that its lines have in the source. */
export function cel(text: string): string {
  const lines = text.replace(/^\n/, '').trimEnd().split('\n');
  const indent = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(indent)).join('\n');
}

/** The pool that a Node is in: the first of these labels that has a value, or the empty string. */
export function poolOfNode(node: string, poolLabels: readonly string[]): string {
  const value = `${node}.metadata.?labels[?k].orValue('')`;
  return `${celList(poolLabels)}\n.map(k, ${value}).filter(v, v != '')[?0].orValue('')`;
}

/** The pool that the object in `params` is for. */
export const POOL_OF_PARAMS = "[params.?spec.?pool.orValue(''), params.metadata.name].filter(p, p != '')[0]";

/** Whether the key `k` is in one of the domains in a list: itself or below it, whatever the case of its letters. */
export function isInDomains(list: string): string {
  return `(k.contains('/') && ${list}.exists(d, ('.' + k.split('/')[0].lowerAscii()).endsWith('.' + d)))`;
}

/** The same for domains that people forbid: one without a dot also names the key that is the same. */
export function isForbidden(list: string): string {
  const bare = `${list}.exists(d, !d.contains('.') && d == k.lowerAscii())`;
  return `(k.contains('/') ? ${isInDomains(list)} : ${bare})`;
}
