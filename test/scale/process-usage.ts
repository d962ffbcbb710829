import { readFile } from 'node:fs/promises';

export type ProcessUsage = { rssMiB: number; privateMiB: number; cpuMs: number };

/** USER_HZ is 100 on every Linux. */
const MS_PER_TICK = 10;

/** Memory and CPU time of a process, from /proc; NaN if it does not exist. */
export async function processUsage(pid: number): Promise<ProcessUsage> {
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
  const [memory, stat] = await Promise.all([read('smaps_rollup'), read('stat')]);
  const mebibytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(memory)?.[1] ?? Number.NaN) / 1024;
  // The name of the program, in parentheses, may hold blanks; utime and stime are the 12th and 13th behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    rssMiB: mebibytes('Rss'),
    privateMiB: mebibytes('Private_Clean') + mebibytes('Private_Dirty'),
    cpuMs: (Number(fields[11] ?? Number.NaN) + Number(fields[12] ?? Number.NaN)) * MS_PER_TICK,
  };
}
