import { execFile } from 'node:child_process';
import path from 'node:path';

const PLUGIN = path.resolve(import.meta.dirname, '../../packages/kubectl-rollcall/dist/main.js');

export type PluginResult = { exitCode: number; stdout: string; stderr: string };

/** Runs the built plugin to its end. */
export function runPlugin(args: readonly string[], env: Record<string, string> = {}): Promise<PluginResult> {
  return new Promise((resolve, reject) => {
    const options = { env: { HOME: '/nonexistent', ...env }, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, [PLUGIN, ...args], options, (error, stdout, stderr) => {
      const exitCode = error ? error.code : 0;
      if (typeof exitCode === 'number') resolve({ exitCode, stdout, stderr });
      else reject(error);
    });
  });
}
