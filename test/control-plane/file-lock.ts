import { open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const touchEveryMs = 5_000;
const staleAfterMs = 60_000;
const retryEveryMs = 200;

interface Holder {
  readonly pid: number;
  readonly host: string;
}

/**
 * Runs `work` while holding the lock file, waiting for another holder as long as that one lives. A holder on this host
 * whose process is gone, or any holder that has not touched the file for 60 s, has lost it. Two processes that find the
 * same dead holder at the same instant may both go on: what the lock guards must bear that (it only saves work).
 */
export async function withFileLock<T>(
  file: string,
  work: () => Promise<T>,
  onWait: (holder: string) => void = () => {},
): Promise<T> {
  let waited = false;
  while (!(await take(file))) {
    const holder = await readHolder(file);
    if (holder === undefined || (await isStale(file, holder))) {
      await rm(file, { force: true });
      continue;
    }
    if (!waited) onWait(`process ${holder.pid}${holder.host === hostname() ? '' : ` on ${holder.host}`}`);
    waited = true;
    await sleep(retryEveryMs);
  }
  const timer = setInterval(() => {
    utimes(file, new Date(), new Date()).catch(() => {});
  }, touchEveryMs);
  timer.unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await rm(file, { force: true });
  }
}

async function take(file: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx');
    await handle.writeFile(JSON.stringify({ pid: process.pid, host: hostname() } satisfies Holder));
    await handle.close();
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** `undefined` when the file is gone or will never be complete; waits a little for a holder that is just writing it. */
async function readHolder(file: string): Promise<Holder | undefined> {
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      return JSON.parse(await readFile(file, 'utf8')) as Holder;
    } catch (error) {
      if (!(error instanceof SyntaxError)) return undefined;
      await sleep(50);
    }
  }
  return undefined;
}

async function isStale(file: string, holder: Holder): Promise<boolean> {
  if (holder.host === hostname() && !isAlive(holder.pid)) return true;
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > staleAfterMs;
}

/** Whether a process of this id exists, ours to signal or not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
