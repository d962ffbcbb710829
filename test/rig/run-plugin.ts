import { execFile } from 'node:child_process';
import path from 'node:path';
import { COMPILE_CACHE } from './program.ts';

export const PLUGIN = path.resolve(import.meta.dirname, '../../packages/kubectl-rollcall/dist/main.js');

export type PluginResult = { exitCode: number; stdout: string; stderr: string };

/** Runs the built plugin to its end. */
export function runPlugin(args: readonly string[], env: Record<string, string> = {}): Promise<PluginResult> {
  return new Promise((resolve, reject) => {
    const options = { env: { HOME: '/nonexistent', ...COMPILE_CACHE, ...env }, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, [PLUGIN, ...args], options, (error, stdout, stderr) => {
      const exitCode = error ? error.code : 0;
      if (typeof exitCode === 'number') resolve({ exitCode, stdout, stderr });
      else reject(error);
    });
  });
}

/** The same in a terminal that is so wide; standard error is in `stdout`. Linux only. */
export function runPluginInTerminal(args: readonly string[], columns: number): Promise<PluginResult> {
  const words = [process.execPath, PLUGIN, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const command = `stty cols ${columns} rows 50; exec ${words.join(' ')}`;
  const env = { ...COMPILE_CACHE, PATH: '/usr/bin:/bin', HOME: '/nonexistent', NO_COLOR: '1', TERM: 'xterm' };
  return new Promise((resolve, reject) => {
    const options = { env, maxBuffer: 64 * 1024 * 1024 };
    execFile('script', ['-qec', command, '/dev/null'], options, (error, stdout) => {
      const exitCode = error ? error.code : 0;
      if (typeof exitCode === 'number') resolve({ exitCode, stdout: stdout.replaceAll('\r\n', '\n'), stderr: '' });
      else reject(error);
    });
  });
}
