import { createInterface } from 'node:readline';
import { parseFault } from './faults.ts';
import type { FaultyListener } from './faulty-listener.ts';

/**
 * Runs a stand-in's process: listens, says `ready <port>`, then obeys lines on standard input (`fault <fault>`, answered
 * with `ok <fault>` or `error <why>`; `stats`, answered with `stats <JSON>`), until SIGTERM or SIGINT.
 */
export async function runStandIn(
  listener: FaultyListener,
  requests: () => number,
  exitWithInput: boolean,
): Promise<void> {
  const stop = () => process.exit(0);
  process.on('SIGTERM', stop).on('SIGINT', stop);
  const lines = createInterface({ input: process.stdin });
  lines.on('line', async (line) => {
    process.stdout.write(`${await obey(line.trim(), listener, requests)}\n`);
  });
  if (exitWithInput) lines.on('close', stop);
  process.stdout.write(`ready ${await listener.listen()}\n`);
}

async function obey(line: string, listener: FaultyListener, requests: () => number): Promise<string> {
  try {
    if (line === 'stats') return `stats ${JSON.stringify({ ...listener.counts, requests: requests() })}`;
    const text = /^fault\s+(.*)$/.exec(line)?.[1];
    if (text === undefined) throw new Error(`unknown command "${line}"`);
    await listener.apply(parseFault(text));
    return `ok ${text}`;
  } catch (error) {
    return `error ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Lets a stand-in end with one clear line. */
export function failStandIn(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
