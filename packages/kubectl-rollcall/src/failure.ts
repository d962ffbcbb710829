import { clean } from '@rollcall/common/clean.ts';
import { Page, type Terminal } from './text/page.ts';

/** What the program ends with; scripts go by it. */
export const EXIT = {
  /** What was asked about is as it should be. */
  ok: 0,
  /** It is not. */
  notSo: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The answer is unknown: no replica leads, or something cannot be reached or may not be read. */
  unknown: 3,
} as const;

/** Why nothing can be said, and what helps: one sentence each. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly cure: string;
  readonly exitCode: number;

  constructor(message: string, cure: string, options: { cause?: unknown; exitCode?: number } = {}) {
    super(message, { cause: options.cause });
    this.cure = cure;
    this.exitCode = options.exitCode ?? EXIT.unknown;
  }
}

/** What a person reads of it. */
export function failureText({ message, cure }: CommandFailure, terminal: Terminal): string {
  return new Page(terminal).line(`${clean(message)}.`, { tone: 'bad' }).cure(clean(cure)).text;
}
