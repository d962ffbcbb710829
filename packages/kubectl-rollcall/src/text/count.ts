/** `1 node`, `5,000 nodes`. */
export function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(n)} ${n === 1 ? noun : plural}`;
}

/** `is`, or `are`. */
export function isOrAre(n: number): string {
  return n === 1 ? 'is' : 'are';
}

export function grouped(n: number): string {
  return n.toLocaleString('en-US');
}

/** `a`, `a and b`, `a, b and c`; of many the first few. */
export function listed(items: readonly string[], max = 5): string {
  if (items.length > max) return `${items.slice(0, max).join(', ')} and ${grouped(items.length - max)} more`;
  const last = items.at(-1);
  return items.length < 2 ? (last ?? '') : `${items.slice(0, -1).join(', ')} and ${last}`;
}
