#!/usr/bin/env node
import path from 'node:path';
import { clean } from '@rollcall/common/clean.ts';
import { CommanderError } from 'commander';
import { COMPLETION_NAME, complete } from './completion/complete.ts';
import { CommandFailure, EXIT, failureText } from './failure.ts';
import { createProgram } from './program.ts';
import { Page, type Terminal } from './text/page.ts';

const { env, stdout, stderr, argv } = process;
const isTerminal = stdout.isTTY === true;
const terminal: Terminal = {
  columns: isTerminal ? stdout.columns : undefined,
  colors: isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
};
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const calledAs = path.basename(argv[1] ?? '');
const program = createProgram({
  terminal,
  streams: { print: (text) => stdout.write(text), note: (text) => stderr.write(text) },
  // kubectl calls its plugins by their whole name.
  name: /^kubectl-rollcall/.test(calledAs) ? 'kubectl rollcall' : 'kubectl-rollcall',
  signal: stop.signal,
  onExit: (code) => {
    process.exitCode = code;
  },
});

try {
  if (calledAs.startsWith(COMPLETION_NAME)) stdout.write(await complete(program, argv.slice(2)));
  else await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const onError: Terminal = {
    columns: stderr.isTTY ? stderr.columns : undefined,
    colors: terminal.colors && stderr.isTTY,
  };
  if (error instanceof CommandFailure) {
    stderr.write(failureText(error, onError));
    return error.exitCode;
  }
  const text = clean(error instanceof Error ? (error.stack ?? error.message) : String(error));
  stderr.write(new Page(onError).line(text, { tone: 'bad' }).text);
  return EXIT.unknown;
}
