import { type ProgressStream, showProgress } from '../control-plane/progress.ts';
import { findCommand, run } from './command.ts';

/** Installs Debian packages, and shows that it does. @throws saying that they are missing where that cannot be. */
export async function installPackages(names: readonly string[], log: ProgressStream): Promise<void> {
  const list = names.join(' ');
  if ((await findCommand('apt-get')) === undefined) {
    throw new Error(`${list} not found, and no apt-get that could install it`);
  }
  const progress = showProgress(log, `Installing ${list} with apt-get`);
  try {
    await aptGet('update');
    await aptGet('install', '--yes', '--no-install-recommends', ...names);
    progress.end(`Installed ${list}`);
  } catch (error) {
    progress.end();
    throw new Error(`${list} not found, and ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

function aptGet(...args: string[]): Promise<string> {
  const settings = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', '--quiet', '--option', 'DPkg::Lock::Timeout=300'];
  return run('env', [...settings, ...args]);
}
