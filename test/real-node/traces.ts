import { existsSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { run } from './command.ts';

/** Marks of one run on the machine, by which its traces are recognized. */
export interface Marks {
  readonly dir: string;
  /** Such as `pid:[4026532000]`, one for each node. */
  readonly pidNamespaces: readonly string[];
}

/** Marks of a run with these nodes. Nodes that are down do not count. */
export async function marksOf(run: {
  readonly dir: string;
  readonly nodes: readonly { readonly pid: number | undefined }[];
}): Promise<Marks> {
  const up = run.nodes.filter(({ pid }) => pid !== undefined);
  return { dir: run.dir, pidNamespaces: await Promise.all(up.map(({ pid }) => readlink(`/proc/${pid}/ns/pid`))) };
}

/** Describes the traces of a run on this machine, one a line; none after its end. */
export async function tracesOf({ dir, pidNamespaces }: Marks): Promise<string[]> {
  const number = dir.slice(dir.lastIndexOf('-') + 1);
  const traces: string[] = [];
  for (const pid of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ');
    const namespace = await readlink(`/proc/${pid}/ns/pid`).catch(() => '');
    // Containers have namespaces of their own.
    const cgroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    const isOurs = [command, cgroups].some((text) => text.includes(`/rollcall-real-${number}/`));
    if (isOurs || pidNamespaces.includes(namespace)) traces.push(`process ${pid} ${command}`);
  }
  const withAddress = new RegExp(`10\\.9[789]\\.${number}\\.|rollcall${number}(n\\d)?\\b`);
  const network = `${await run('ip', ['address'])}${await run('ip', ['route'])}`;
  traces.push(...network.split('\n').filter((line) => withAddress.test(line)));
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  traces.push(...mounts.filter((line) => line.includes(`${dir}/`)));
  for (const hierarchy of await readdir('/sys/fs/cgroup')) {
    const cgroup = `/sys/fs/cgroup/${hierarchy}/rollcall-real-${number}`;
    if (existsSync(cgroup)) traces.push(cgroup);
  }
  for (const left of [dir, `/sys/fs/cgroup/rollcall-real-${number}`]) if (existsSync(left)) traces.push(left);
  return traces;
}
