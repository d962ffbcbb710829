/** A comparison of integers, or of versions: the parts of a version from the left, a number alone being one part. */
export type Order = { op: '=' | '>' | '>=' | '<' | '<='; bound: readonly number[] };

/** Any of these values, each of which may be a pattern. */
export type Among = { values: readonly string[] };

/** One thing that can be said of a node, or not. */
export type Predicate =
  | { kind: 'label'; key: string; test?: Among | Order }
  | { kind: 'fact'; name: string; test?: Among | Order }
  | { kind: 'resource'; name: string; test: Order }
  | { kind: 'count'; name: string; test: Order }
  | { kind: 'dra'; name: string; test: Order }
  | { kind: 'driver'; name: string; test?: Among }
  | { kind: 'nfd'; name: string; test?: Among | Order }
  | { kind: 'module' | 'cpu' | 'declared'; name: string };

/** What the machine and its drivers say, labels apart. */
export type MachinePredicate = Exclude<Predicate, { kind: 'label' }>;

/** Returns the questions that an agent must be asked; none if it reports the answer unasked. */
export function questionOf(predicate: Predicate): string | undefined {
  const isAsked =
    predicate.kind === 'module' || predicate.kind === 'cpu' || (predicate.kind === 'nfd' && isLocal(predicate.name));
  return isAsked ? `${predicate.kind}:${predicate.name}` : undefined;
}

/** What NFD reads from `features.d`, which an agent may read as well. */
function isLocal(name: string): boolean {
  return /^local\.(label|feature)\../.test(name);
}

export function isOrder(test: Among | Order): test is Order {
  return 'op' in test;
}

/** Whether a text, as a number or a version, compares so; `undefined` for what is neither. */
export function compares({ op, bound }: Order, text: string): boolean | undefined {
  const parts = versionParts(text);
  return parts && comparesParts(op, parts, bound);
}

export function comparesNumber({ op, bound }: Order, amount: number): boolean {
  return comparesParts(op, [amount], bound);
}

function comparesParts(op: Order['op'], parts: readonly number[], bound: readonly number[]): boolean {
  let difference = 0;
  for (let index = 0; difference === 0 && index < Math.max(parts.length, bound.length); index += 1) {
    difference = (parts[index] ?? 0) - (bound[index] ?? 0);
  }
  switch (op) {
    case '=':
      return difference === 0;
    case '>':
      return difference > 0;
    case '>=':
      return difference >= 0;
    case '<':
      return difference < 0;
    case '<=':
      return difference <= 0;
  }
}

/**
 * `v6.12.1-arch1` is 6, 12, 1, as in a comparison of the type version of NFD, and `+5` is 5, as in one of numbers. NFD asks
 * for the type; here what is not whole is a version.
 */
function versionParts(text: string): number[] | undefined {
  const [digits] = /^(?:v?\d{1,15}(?:\.\d{1,15})*|[-+]\d{1,15})/.exec(text) ?? [];
  return digits?.replace('v', '').split('.').map(Number);
}

/** Returns a bound that is a version, such as `v6.8`, or an integer; `undefined` for any other text. */
export function versionBound(text: string): readonly number[] | undefined {
  return /^v?\d{1,15}(\.\d{1,15}){0,7}$/.test(text) || INTEGER.test(text) ? versionParts(text) : undefined;
}

const INTEGER = /^[-+]?\d{1,15}$/;

/** Returns a bound that is an integer; `undefined` for any other text. */
export function integerBound(text: string): readonly number[] | undefined {
  return INTEGER.test(text) ? [Number(text)] : undefined;
}

/** Whether the value of a label, which has to be an integer, compares so. */
export function comparesInteger(order: Order, text: string): boolean {
  return INTEGER.test(text) && compares(order, text) === true;
}
