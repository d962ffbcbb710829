import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../control-plane/wait-for.ts';

/** Controllers that a kubelet requires; a unified hierarchy may have more. */
const neededControllers = ['cpu', 'cpuset', 'memory', 'pids'];
const handedDown = [...neededControllers, 'hugetlb', 'io'];

/**
 * A machine has its cores for itself. These have as much as 16 programs of the tests that run beside them, and not as one:
 * a probe is not to fail since a pod got no time to answer.
 */
const SHARE = { file: 'cpu.shares', value: '16384' };
const UNIFIED_SHARE = { file: 'cpu.weight', value: '1600' };

interface Hierarchy {
  readonly dir: string;
  readonly controllers: readonly string[];
  readonly isUnified: boolean;
}

/** Names of the controllers that a kubelet needs and this machine lacks. */
export async function missingControllers(): Promise<string[]> {
  const there = new Set((await hierarchies()).flatMap(({ controllers }) => controllers));
  return neededControllers.filter((controller) => !there.has(controller));
}

/** Makes the cgroup (a path such as `/a/b`) in every hierarchy, ready for a kubelet to make others in it. */
export async function createCgroup(path: string): Promise<void> {
  for (const { dir, controllers, isUnified } of await hierarchies()) {
    let parent = dir;
    for (const name of path.split('/').filter(Boolean)) {
      if (isUnified) await handDown(parent, controllers);
      const child = join(parent, name);
      await mkdir(child, { recursive: true });
      if (controllers.includes('cpuset') && !isUnified) await inheritCpuset(parent, child);
      const { file, value } = isUnified ? UNIFIED_SHARE : SHARE;
      if (controllers.includes('cpu')) await writeFile(join(child, file), value);
      parent = child;
    }
    if (isUnified) await handDown(parent, controllers);
  }
}

/** Removes the cgroup and those in it, once the last of their processes is gone. */
export async function removeCgroup(path: string): Promise<void> {
  const dirs = (await hierarchies()).map(({ dir }) => join(dir, path));
  await waitFor(`the cgroup ${path} to be empty`, async () => {
    for (const dir of dirs) await removeTree(dir);
    return !dirs.some((dir) => existsSync(dir));
  });
}

/** Names of the cgroups at the root of a hierarchy that begin so. */
export async function cgroupsLike(prefix: string): Promise<string[]> {
  const names = await Promise.all((await hierarchies()).map(({ dir }) => readdir(dir)));
  return [...new Set(names.flat())].filter((name) => name.startsWith(prefix));
}

/** Ids, as this process sees them, of the processes in cgroups below `path` of which a part of the name is `name`. */
export async function processesIn(path: string, name: string): Promise<number[]> {
  const hierarchy = (await hierarchies()).find(({ controllers }) => controllers.includes('pids'));
  if (hierarchy === undefined) throw new Error('no cgroup hierarchy with the controller pids');
  const root = join(hierarchy.dir, path);
  const entries = await readdir(root, { recursive: true });
  const files = entries.filter((entry) => entry.includes(name) && entry.endsWith('/cgroup.procs'));
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), 'utf8').catch(() => '')));
  return texts.flatMap((text) => text.split('\n').filter(Boolean).map(Number));
}

async function hierarchies(): Promise<Hierarchy[]> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8');
  const found: Hierarchy[] = [];
  for (const line of mounts.trimEnd().split('\n')) {
    const [place = '', kind = ''] = line.split(' - ');
    const dir = place.split(' ')[4] ?? '';
    const [type, , options = ''] = kind.split(' ');
    if (!dir.startsWith('/sys/fs/cgroup')) continue;
    if (type === 'cgroup') found.push({ dir, controllers: options.split(','), isUnified: false });
    if (type === 'cgroup2') {
      const controllers = (await readFile(join(dir, 'cgroup.controllers'), 'utf8')).trim().split(' ');
      found.push({ dir, controllers: controllers.filter(Boolean), isUnified: true });
    }
  }
  return found;
}

async function handDown(dir: string, controllers: readonly string[]): Promise<void> {
  const file = join(dir, 'cgroup.subtree_control');
  const already = (await readFile(file, 'utf8')).trim().split(' ');
  for (const controller of handedDown) {
    if (controllers.includes(controller) && !already.includes(controller)) await writeFile(file, `+${controller}`);
  }
}

/** A cpuset is empty at first, and nothing may run in it. */
async function inheritCpuset(parent: string, child: string): Promise<void> {
  for (const name of ['cpuset.cpus', 'cpuset.mems']) {
    await writeFile(join(child, name), await readFile(join(parent, name), 'utf8'));
  }
}

/** Removes what it can: a cgroup that still has a process stays. */
async function removeTree(dir: string): Promise<void> {
  const children = await readdir(dir, { withFileTypes: true }).catch(() => []);
  for (const child of children) if (child.isDirectory()) await removeTree(join(dir, child.name));
  await rmdir(dir).catch(() => {});
}
