import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import type { ProgressStream } from '../control-plane/progress.ts';
import { installPackages } from '../real-node/apt-get.ts';
import { isExecutable } from '../real-node/command.ts';

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome'];

/** The browser that CHROMIUM_PATH names, or that is on PATH. */
async function findChromium(): Promise<string | undefined> {
  const named = process.env['CHROMIUM_PATH'];
  if (named !== undefined && named !== '') return named;
  const dirs = (process.env['PATH'] ?? '').split(delimiter);
  for (const file of COMMANDS.flatMap((command) => dirs.map((dir) => join(dir, command)))) {
    if (await isExecutable(file)) return file;
  }
  return undefined;
}

/**
 * Sees to a browser: one that is there, or the Debian package, as for the real nodes. Returns its path. @throws saying why
 * there is none, or why it does not run.
 */
export async function ensureChromium(log: ProgressStream): Promise<string> {
  let file = await findChromium();
  if (file === undefined) {
    await installPackages(['chromium'], log);
    file = await findChromium();
  }
  if (file === undefined) throw new Error('chromium not found, although installed with apt-get');
  await (await launch(file)).close();
  return file;
}

/** The sandbox of Chromium does not work as root and in containers, and the pages are our own. */
export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: 60_000 });
}
