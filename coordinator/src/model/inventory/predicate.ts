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

/** `6.12.1-arch1` is 6, 12, 1. */
function versionParts(text: string): number[] | undefined {
  const [digits] = /^-?\d{1,15}(\.\d{1,15})*/.exec(text) ?? [];
  return digits?.split('.').map(Number);
}

const INTEGER = /^-?\d{1,15}$/;

/** Whether the value of a label, which has to be an integer, compares so. */
export function comparesInteger(order: Order, text: string): boolean {
  return INTEGER.test(text) && compares(order, text) === true;
}
