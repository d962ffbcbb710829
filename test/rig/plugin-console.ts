import path from 'node:path';
import { createInterface } from 'node:readline';
import { signalChild, spawnChild } from '../control-plane/child.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { PLUGIN } from './run-plugin.ts';

export type PluginConsole = {
  /** URL of the page on this machine. */
  url: string;
  /** Ends it as Ctrl-C does; returns the exit code. */
  interrupt: () => Promise<number | null>;
};

/** `kubectl rollcall console`, which runs until it is ended. */
export async function startPluginConsole(args: readonly string[]): Promise<PluginConsole> {
  const child = spawnChild(process.execPath, {
    args: [PLUGIN, 'console', '--no-browser', ...args],
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { HOME: path.join('/', 'nonexistent') },
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const told = () => {
    if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}:\n${lines.join('\n')}`);
    return lines.find((line) => line.startsWith('http://'));
  };
  const url = await waitFor('the address of the page', told, { timeoutMs: 60_000 });
  return {
    url,
    async interrupt() {
      await signalChild(child, 'SIGINT');
      return child.exitCode;
    },
  };
}
