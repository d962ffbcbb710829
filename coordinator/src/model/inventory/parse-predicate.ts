import { ACCELERATORS } from '@rollcall/common/accelerators.ts';
import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import { featureName } from './feature-name.ts';
import { canMatch } from './glob.ts';
import { undecidableFeature } from './nfd-features.ts';
import { type Among, integerBound, type Order, type Predicate, versionBound } from './predicate.ts';
import { quantityOf } from './quantity.ts';
import { isDeviceId } from './tally.ts';

/** What is wrong with a line, and where in it; columns count from 1. */
export class PredicateProblem extends Error {
  readonly column: number;

  constructor({ column }: Pick<Token, 'column'>, problem: string) {
    super(problem);
    this.column = column;
  }
}

const QUOTED_LENGTH_MAX = 80;
const VALUES_MAX = 64;
const SOME: Order = { op: '>', bound: [0] };
const OPERATORS = ['=', '>', '>=', '<', '<='] as const;
const KINDS = ['resource', 'count', 'driver', 'module', 'cpu', 'fact', 'dra', 'nfd', 'declared', 'pci', 'usb'] as const;
type Kind = (typeof KINDS)[number];
/** `Feature` or `Feature/SubFeature`, as KEP-5328 has them. */
const DECLARED_FEATURE = /^(?=.{1,253}$)[A-Za-z][A-Za-z0-9]*(\/[A-Za-z][A-Za-z0-9]*)?$/;

/** Reads a predicate. Throws PredicateProblem. */
export function parsePredicate(tokens: Tokens): Predicate {
  const first = tokens.take();
  if (!first.isWord) throw new PredicateProblem(first, notAKey(first.text));
  const kind = KINDS.find((each) => first.text.startsWith(`${each}:`));
  if (kind === undefined) return parseLabel(first, tokens);
  // The name may stand apart.
  const rest = { ...first, text: first.text.slice(kind.length + 1), column: first.column + kind.length + 1 };
  return parseKind(kind, rest.text === '' && tokens.peek().isWord ? tokens.take() : rest, tokens);
}

function parseKind(kind: Kind, name: Token, tokens: Tokens): Predicate {
  switch (kind) {
    case 'resource': {
      if (!isLabelKey(name.text))
        throw new PredicateProblem(name, `${quoted(name.text)} is not the name of a resource`);
      return { kind, name: name.text, test: parseAmount(tokens, quantityOf) ?? SOME };
    }
    case 'dra': {
      if (!isLabelKey(name.text))
        throw new PredicateProblem(name, `${quoted(name.text)} is not the name of a DRA driver`);
      return { kind, name: name.text, test: parseAmount(tokens, wholeNumber) ?? SOME };
    }
    case 'nfd': {
      const named = featureName(name.text);
      if (!named) throw new PredicateProblem(name, `${quoted(name.text)} is not the name of a feature of NFD`);
      const problem = undecidableFeature(named);
      if (problem !== undefined) throw new PredicateProblem(name, problem);
      if (named.element === undefined) return { kind, name: name.text, test: parseAmount(tokens, wholeNumber) ?? SOME };
      return { kind, name: name.text, ...parseFactTest(tokens) };
    }
    case 'count':
      return parseCount(name, tokens);
    case 'pci':
    case 'usb':
      return parseCount({ ...name, text: `${kind}:${name.text.toLowerCase()}` }, tokens);
    case 'driver': {
      checkDevice(name);
      const test = parseAmong(tokens);
      return { kind, name: name.text, ...(test ? { test } : {}) };
    }
    case 'fact': {
      if (!/^[a-z][a-z0-9-]{0,62}$/.test(name.text)) {
        throw new PredicateProblem(name, `${quoted(name.text)} is not the name of a fact`);
      }
      return { kind, name: name.text, ...parseFactTest(tokens) };
    }
    case 'module':
    case 'cpu': {
      const what = kind === 'module' ? 'a kernel module' : 'a flag of processors';
      if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/.test(name.text)) {
        throw new PredicateProblem(name, `${quoted(name.text)} is not the name of ${what}`);
      }
      return { kind, name: name.text };
    }
    case 'declared': {
      if (!DECLARED_FEATURE.test(name.text))
        throw new PredicateProblem(name, `${quoted(name.text)} is not the name of a declared feature`);
      return { kind, name: name.text };
    }
  }
}

function parseFactTest(tokens: Tokens): { test?: Among | Order } {
  const test = parseAmong(tokens) ?? parseOrder(tokens, versionBound);
  return test ? { test } : {};
}

function parseLabel(first: Token, tokens: Tokens): Predicate {
  const key = collapsed(first.text);
  if (!canMatch(key, isLabelKey)) throw new PredicateProblem(first, notAKey(first.text));
  const test = parseAmong(tokens) ?? parseOrder(tokens, integerBound);
  return { kind: 'label', key, ...(test ? { test } : {}) };
}

function parseCount(name: Token, tokens: Tokens): Predicate {
  checkDevice(name);
  return { kind: 'count', name: name.text, test: parseAmount(tokens, wholeNumber) ?? SOME };
}

function checkDevice(name: Token): void {
  if (isDeviceId(name.text) || ACCELERATORS.some((accelerator) => accelerator.name === name.text)) return;
  const isId = /^(pci|usb):/.test(name.text);
  const problem = isId
    ? 'is not pci:VENDOR[:DEVICE][@CLASS] or usb:VENDOR[:PRODUCT] with 4 hexadecimal digits each'
    : 'is not a device that rollcall knows';
  throw new PredicateProblem(name, `${quoted(name.text)} ${problem}`);
}

/** `= VALUE` or `in (VALUE, …)`. */
function parseAmong(tokens: Tokens): Among | undefined {
  if (tokens.takes('=')) return { values: [parseValue(tokens)] };
  const next = tokens.peek();
  if (next.text !== 'in' || !next.isWord || tokens.peek(1).text !== '(') return undefined;
  tokens.take();
  tokens.take();
  const values: string[] = [];
  do {
    values.push(parseValue(tokens));
    if (values.length > VALUES_MAX) throw new PredicateProblem(next, `there are more than ${VALUES_MAX} values here`);
  } while (tokens.takes(','));
  const end = tokens.peek();
  if (!tokens.takes(')')) throw new PredicateProblem(end, `${quoted(end.text)} is not ")" or ","`);
  return { values };
}

/** The empty one is a value as well. */
function parseValue(tokens: Tokens): string {
  const next = tokens.peek();
  const isEmpty = tokens.isAtEnd || ['&&', '=>', ',', ')'].includes(next.text);
  const value = isEmpty ? '' : collapsed(tokens.take().text);
  if (canMatch(value, isLabelValue)) return value;
  throw new PredicateProblem(next, `${quoted(value)} is not a label value, nor a pattern that one could match`);
}

function parseAmount(tokens: Tokens, read: (text: string) => number | undefined): Order | undefined {
  return parseOrder(tokens, (text) => {
    const amount = read(text);
    return amount === undefined ? undefined : [amount];
  });
}

/** `>= NUMBER` and the like. */
function parseOrder(tokens: Tokens, read: (text: string) => readonly number[] | undefined): Order | undefined {
  const sign = tokens.peek();
  const op = sign.isWord ? undefined : OPERATORS.find((operator) => operator === sign.text);
  if (op === undefined) return undefined;
  tokens.take();
  const number = tokens.take();
  const bound = number.isWord ? read(number.text) : undefined;
  if (bound === undefined) throw new PredicateProblem(number, `${quoted(number.text)} is not a number that fits here`);
  return { op, bound };
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function notAKey(text: string): string {
  return `${quoted(text)} is not a label key, nor a pattern that one could match`;
}

function collapsed(pattern: string): string {
  return pattern.replace(/\*+/g, '*');
}

export function quoted(text: string): string {
  const cut = text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text;
  return JSON.stringify(cut);
}

/** A word, or a sign, with where it begins; columns count from 1. */
export type Token = { text: string; column: number; isWord: boolean };

const TOKEN = /\s*(=>|>=|<=|&&|[=><!(),]|[^\s=><!(),&]+|&)/y;
const SIGN = /^[=><!(),&]/;

/** Reads the words and signs of a line from the left, no further than is asked for. */
export class Tokens {
  readonly #line: string;
  /** Those that were read and not taken. */
  readonly #ahead: Token[] = [];
  #readTo = 0;

  constructor(line: string) {
    this.#line = line;
  }

  get isAtEnd(): boolean {
    return this.#at(0) === undefined;
  }

  /** The next one, which is left where it is. At the end, an empty sign. */
  peek(ahead = 0): Token {
    return this.#at(ahead) ?? { text: '', column: this.#line.length + 1, isWord: false };
  }

  take(): Token {
    const token = this.peek();
    this.#ahead.shift();
    return token;
  }

  /** Takes the next one if it is this sign. */
  takes(sign: string): boolean {
    const { text, isWord } = this.peek();
    const isThere = !isWord && text === sign;
    if (isThere) this.#ahead.shift();
    return isThere;
  }

  #at(ahead: number): Token | undefined {
    while (this.#ahead.length <= ahead) {
      TOKEN.lastIndex = this.#readTo;
      const [whole = '', text] = TOKEN.exec(this.#line) ?? [];
      if (text === undefined) break;
      this.#readTo += whole.length;
      this.#ahead.push({ text, column: this.#readTo - text.length + 1, isWord: !SIGN.test(text) });
    }
    return this.#ahead[ahead];
  }
}
