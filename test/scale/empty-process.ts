import { setTimeout as sleep } from 'node:timers/promises';
import { exitOf, killChild, spawnChild } from '../control-plane/child.ts';
import { type ProcessUsage, processUsage } from './process-usage.ts';

const EMPTY_SETTLES_MS = 2000;

/** Cost of the same Node.js process that does nothing. */
export async function emptyProcess(): Promise<ProcessUsage> {
  const child = spawnChild(process.execPath, { args: ['-e', 'setInterval(() => {}, 60_000)'], stdio: 'ignore' });
  try {
    await Promise.race([sleep(EMPTY_SETTLES_MS), exitOf(child)]);
    return await processUsage(child.pid ?? 0);
  } finally {
    await killChild(child);
  }
}
