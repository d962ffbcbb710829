import { readFileSync } from 'node:fs';

const LOOK_EVERY_MS = 500;

/**
 * Resolves with the reason when this process should stop: a signal, or the end of the process that started it. npm passes no
 * SIGTERM on, and between npm and us there may be a shell, so the grandparent is watched too.
 */
export function untilStopped(): Promise<string> {
  const parent = process.ppid;
  const grandparent = parentOf(parent);
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (process.ppid !== parent || parentOf(parent) !== grandparent) stop('the process that started this is gone');
    }, LOOK_EVERY_MS);
    function stop(reason: string): void {
      clearInterval(timer);
      resolve(reason);
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop(signal));
  });
}

/** From /proc; `undefined` where there is none, and then only the parent is watched. */
function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}
