/** A word, or a sign, with where it begins; columns count from 1. */
export type Token = { text: string; column: number; isWord: boolean };

const TOKEN = /\s*(=>|>=|<=|&&|[=><!(),]|[^\s=><!(),&]+|&)/gy;
const SIGN = /^[=><!(),&]/;

/** The words and signs of a line. */
function tokensOf(line: string): Token[] {
  return [...line.matchAll(TOKEN)].map(({ 0: whole, 1: text = '', index }) => ({
    text,
    column: index + whole.length - text.length + 1,
    isWord: !SIGN.test(text),
  }));
}

/** Reads tokens from the left. */
export class Tokens {
  readonly #tokens: readonly Token[];
  readonly #endColumn: number;
  #next = 0;

  constructor(line: string) {
    this.#tokens = tokensOf(line);
    this.#endColumn = line.length + 1;
  }

  get isAtEnd(): boolean {
    return this.#next >= this.#tokens.length;
  }

  /** The next one, which is left where it is. At the end, an empty sign. */
  peek(ahead = 0): Token {
    return this.#tokens[this.#next + ahead] ?? { text: '', column: this.#endColumn, isWord: false };
  }

  take(): Token {
    const token = this.peek();
    this.#next += 1;
    return token;
  }

  /** Takes the next one if it is this sign. */
  takes(sign: string): boolean {
    const isThere = !this.peek().isWord && this.peek().text === sign;
    if (isThere) this.#next += 1;
    return isThere;
  }
}
