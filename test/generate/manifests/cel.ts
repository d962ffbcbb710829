/**
 * A CEL expression without the indentation that it has in the source. Lists of strings become lists of CEL; nothing
 * else is escaped.
 */
export function cel(parts: TemplateStringsArray, ...values: readonly (string | readonly string[])[]): string {
  const text = parts.reduce((before, part, index) => before + textOf(values[index - 1] ?? '') + part);
  const lines = text.replace(/^\n/, '').trimEnd().split('\n');
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  const indent = Math.min(...indents);
  return lines.map((line) => line.slice(indent)).join('\n');
}

function textOf(value: string | readonly string[]): string {
  return typeof value === 'string' ? value : `[${value.map((each) => `'${each}'`).join(', ')}]`;
}

/** The pool that a Node is in: the first of these labels that has a value, or the empty string. */
export function poolOfNode(node: string, poolLabels: readonly string[]): string {
  return cel`
    ${poolLabels}
      .map(k, ${node}.metadata.?labels[?k].orValue('')).filter(v, v != '')[?0].orValue('')`;
}

/** The pool that the NodePoolLabelSet in `params` is for. */
export const POOL_OF_PARAMS = "[params.?spec.?pool.orValue(''), params.metadata.name].filter(p, p != '')[0]";

/** Whether a key is in one of these domains: itself or below it, whatever the case of its letters. */
export function isInDomains(key: string, domains: readonly string[]): string {
  return `(${key}.contains('/') && ${textOf(domains)}
  .exists(d, ('.' + ${key}.split('/')[0].lowerAscii()).endsWith('.' + d)))`;
}
