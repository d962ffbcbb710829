import { randomInt } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../control-plane/file-lock.ts';
import { cgroupsLike, removeCgroup } from './cgroups.ts';
import { run } from './command.ts';

const dirPrefix = 'rollcall-real-';
const bridgePrefix = 'rollcall';
const runsMax = 256;
const attemptsMax = 50;
/** So long a directory may have no owner yet. */
const ownerWithinMs = 10_000;

/** The number of nodes for which a run has addresses. */
export const nodesMax = 4;

/** Resources of one run on this machine, all named after its number. */
export interface Place {
  readonly dir: string;
  /** Directory of the containerds' configuration of registries. */
  readonly registriesDir: string;
  /** Name of the bridge, on which the host has `hostIp`. */
  readonly bridge: string;
  /** Path of the cgroup in which each node has one. */
  readonly cgroup: string;
  readonly hostIp: string;
  readonly serviceCidr: string;
  /** IP of the Service `kubernetes`. */
  readonly serviceIp: string;
  readonly podCidr: string;
  /** `index` counts from 0. */
  node(index: number): { ip: string; podCidr: string; veth: string };
}

/** Takes a number that no other run has, makes its directory, cgroup and bridge, and clears away what dead runs left. */
export async function openPlace(): Promise<Place> {
  await removeLeftovers();
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const number = randomInt(runsMax);
    const place = placeOf(number);
    const isMine = await mkdir(place.dir).then(
      () => true,
      () => false,
    );
    if (!isMine) continue;
    await writeFile(join(place.dir, 'owner'), `${process.pid}\n`);
    await run('ip', ['link', 'add', place.bridge, 'type', 'bridge']);
    await run('ip', ['address', 'add', `${place.hostIp}/24`, 'dev', place.bridge]);
    await run('ip', ['link', 'set', place.bridge, 'up']);
    return place;
  }
  throw new Error(`no free number for a run found; see ${join(tmpdir(), dirPrefix)}*`);
}

/** Removes what the run had, once its processes are gone. Routes and the hosts' ends of veth pairs go with the bridge. */
export async function closePlace(place: Place): Promise<void> {
  await removeCgroup(place.cgroup);
  await run('ip', ['link', 'delete', place.bridge]).catch((error: unknown) => {
    if (!String(error).includes('Cannot find device')) throw error;
  });
  await rm(place.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

function placeOf(number: number): Place {
  const cgroup = `/${dirPrefix}${number}`;
  const dir = join(tmpdir(), `${dirPrefix}${number}`);
  return {
    dir,
    registriesDir: join(dir, 'registries'),
    bridge: `${bridgePrefix}${number}`,
    cgroup,
    hostIp: `10.99.${number}.1`,
    serviceCidr: `10.97.${number}.0/24`,
    serviceIp: `10.97.${number}.1`,
    podCidr: `10.98.${number}.0/24`,
    node: (index) => ({
      ip: `10.99.${number}.${11 + index}`,
      podCidr: `10.98.${number}.${64 * index}/26`,
      veth: `${bridgePrefix}${number}n${index}`,
    }),
  };
}

/** A run whose process is gone has no processes any more, but its bridge, cgroups and files. */
async function removeLeftovers(): Promise<void> {
  const names = await readdir(tmpdir());
  const cgroups = await cgroupsLike(dirPrefix);
  for (const name of new Set([...names, ...cgroups])) {
    const number = /^\d+$/.test(name.slice(dirPrefix.length)) ? Number(name.slice(dirPrefix.length)) : undefined;
    if (!name.startsWith(dirPrefix) || number === undefined) continue;
    const place = placeOf(number);
    if (!(await hasOwner(place))) await closePlace(place);
  }
}

async function hasOwner({ dir }: Place): Promise<boolean> {
  const owner = await readFile(join(dir, 'owner'), 'utf8').catch(() => '');
  if (owner !== '') return isAlive(Number(owner));
  const { mtimeMs } = await stat(dir).catch(() => ({ mtimeMs: 0 }));
  return Date.now() - mtimeMs < ownerWithinMs;
}
