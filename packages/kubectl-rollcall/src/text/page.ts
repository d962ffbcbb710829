import { styleText } from 'node:util';
import { type Column, table } from './table.ts';
import { wrapped } from './width.ts';

/** What is printed to. */
export type Terminal = {
  /** How wide it is; absent where it is none, and lines are as long as they are. */
  columns: number | undefined;
  colors: boolean;
};

export type Tone = 'good' | 'bad' | 'doubtful' | 'quiet' | 'strong';

const STYLES = { good: 'green', bad: 'red', doubtful: 'yellow', quiet: 'dim', strong: 'bold' } as const;

/** Lines of text, as they come. Text that others wrote has to be clean. */
export class Page {
  readonly #lines: string[] = [];
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  get text(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  /** Text, broken into lines where they are too wide. */
  line(text = '', { tone, indent = 0 }: { tone?: Tone; indent?: number } = {}): this {
    const { columns } = this.#terminal;
    const parts = columns === undefined ? [text] : wrapped(text, Math.max(20, columns - indent));
    for (const part of parts) this.#lines.push(`${' '.repeat(part === '' ? 0 : indent)}${this.paint(part, tone)}`);
    return this;
  }

  /** A word in a column of its own, and text beside it. */
  field(
    name: string,
    text: string,
    { tone, indent = 0, width = 10 }: { tone?: Tone; indent?: number; width?: number } = {},
  ): this {
    const { columns } = this.#terminal;
    const left = indent + width;
    const parts = columns === undefined ? [text] : wrapped(text, Math.max(20, columns - left));
    for (const [index, part] of parts.entries()) {
      const label = index === 0 ? name.padEnd(width) : ' '.repeat(width);
      this.#lines.push(
        `${' '.repeat(indent)}${index === 0 ? this.paint(label, 'quiet') : label}${this.paint(part, tone)}`,
      );
    }
    return this;
  }

  /** What can be done about something. It may be a command, which is to be copied: it is one line, however long. */
  cure(text: string, indent = 0, word = 'fix'): this {
    this.#lines.push(`${' '.repeat(indent)}${this.paint(`${word}: ${text}`, 'quiet')}`);
    return this;
  }

  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): this {
    const [head = '', ...body] = table(rows, columns, this.#terminal.columns);
    this.#lines.push(this.paint(head, 'strong'), ...body);
    return this;
  }

  paint(text: string, tone: Tone | undefined): string {
    if (tone === undefined || !this.#terminal.colors || text === '') return text;
    return styleText(STYLES[tone], text, { validateStream: false });
  }
}
