import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { createProgram } from '../program.ts';
import { type Answers, kubeConfigDocument, standIn } from './stand-in.test-fixtures.ts';

export type Ran = { text: string; notes: string; exitCode: number | undefined };

export type RunOptions = { columns?: number; signal?: AbortSignal; onPrint?: (text: string) => void };

/** Runs a command line as it is. */
export async function runLine(line: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { columns = 200, signal = new AbortController().signal, onPrint } = options;
  const ran: Ran = { text: '', notes: '', exitCode: undefined };
  const program = createProgram({
    terminal: { columns, colors: false },
    streams: {
      print: (text) => {
        ran.text += text;
        onPrint?.(text);
      },
      note: (text) => {
        ran.notes += text;
      },
    },
    name: 'kubectl rollcall',
    signal,
    onExit: (code) => {
      ran.exitCode = code;
    },
  });
  await program.parseAsync(['node', 'kubectl-rollcall', ...line]);
  return ran;
}

/** Runs a command line with a console, and with an API server where answers of one are given. */
export async function run(line: readonly string[], answers: Answers, kube?: Answers): Promise<Ran> {
  const { url } = await standIn(answers);
  const kubeconfig = kube ? await kubeConfigFile(kube) : '/nonexistent';
  return runLine([...line, `--console-url=${url}`, `--kubeconfig=${kubeconfig}`]);
}

/** The path of a kubeconfig, for an API server that gives these answers. */
export async function kubeConfigFile(answers: Answers): Promise<string> {
  const { url } = await standIn(answers);
  return fileWith('kubeconfig', JSON.stringify(kubeConfigDocument(url)));
}

export function fileWith(name: string, text: string): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'kubectl-rollcall-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = path.join(dir, name);
  writeFileSync(file, text);
  return file;
}
