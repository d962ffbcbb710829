import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCgroup, missingControllers, removeCgroup } from './cgroups.ts';
import { findCommand, runShell } from './command.ts';

const commands = ['setpriv', 'unshare', 'nsenter', 'ip', 'mount'];

/** Why nodes cannot run on this machine, whatever is installed; `undefined` when they can. Leaves nothing behind. */
export async function findObstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  for (const command of commands) if ((await findCommand(command)) === undefined) return `${command} not found`;
  const missing = await missingControllers();
  if (missing.length > 0) return `no cgroup controller ${missing.join(', ')}`;
  return (await findCgroupObstacle()) ?? (await findNamespaceObstacle());
}

async function findCgroupObstacle(): Promise<string | undefined> {
  const path = `/rollcall-trial-${process.pid}`;
  try {
    await createCgroup(path);
    return undefined;
  } catch (error) {
    return `cannot make cgroups: ${lastLine(error)}`;
  } finally {
    await removeCgroup(path);
  }
}

/** Containers are on an overlay, in namespaces with a bridge; all that needs CAP_SYS_ADMIN and CAP_NET_ADMIN. */
async function findNamespaceObstacle(): Promise<string | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-trial-'));
  const trial = `cd ${dir}; mkdir upper work merged; mount -t overlay -o lowerdir=/sys/bus,upperdir=upper,workdir=work none merged
    ip link add trial type bridge; ip link add one type veth peer name two`;
  try {
    await runShell(`unshare --mount --net --pid --uts --ipc --fork --mount-proc sh -ec '${trial}'`);
    return undefined;
  } catch (error) {
    return `cannot make namespaces with an overlay, a bridge and a pair of veth: ${lastLine(error)}`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** The error message; the lines before it are the command. */
function lastLine(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).trim().split('\n');
  return lines.at(-1)?.trim() ?? '';
}
