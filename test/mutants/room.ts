import path from 'node:path';
import { generator } from '../model/random.ts';
import { ROOM_IMPORTS } from '../tidy/rooms.ts';
import { isTestCode, repositoryFiles, roomOf } from '../tidy/sources.ts';
import { inCopy } from './copy.ts';
import { isEquivalent } from './equivalents.ts';
import FLOORS from './floors.json' with { type: 'json' };
import type { KeptVitest } from './kept-vitest.ts';
import { mutationsOf } from './mutations.ts';
import { type Mutant, tryMutant } from './try-mutant.ts';

/** Beside what the tests took as they are, on a machine that is busy with other things as well. */
const OVERTIME_FACTOR = 6;
const OVERTIME_LEAST_MS = 60_000;
const AS_IT_IS_MS = 1_800_000;

export type RoomOptions = {
  /** So many of the mutants. */
  sample: number;
  seed: number;
  /** Part of the path that selects files. */
  part: string;
  besideOnly: boolean;
};

/** `kube` stands for `coordinator/kube`. */
export function roomNamed(name: string): string | undefined {
  const rooms = Object.keys(ROOM_IMPORTS);
  return rooms.find((room) => room === name) ?? rooms.find((room) => room.endsWith(`/${name}`));
}

/** Files that only define metrics. */
const METRICS = /(^|[/-])metrics\.ts$/;

/** The mutants of a room that are not listed as equivalent. */
export function mutantsOf(room: string, part = ''): Mutant[] {
  return repositoryFiles()
    .filter(({ path: file }) => file.endsWith('.ts') && !isTestCode(file) && roomOf(file) === room)
    .filter(({ path: file }) => file.includes(part) && !METRICS.test(file))
    .flatMap(({ path: file, text }) =>
      mutationsOf(text)
        .map((mutation) => ({ ...mutation, file }))
        .filter((mutant) => !isEquivalent(mutant, text)),
    );
}

function sampleOf(mutants: readonly Mutant[], size: number, random: () => number): Mutant[] {
  return mutants
    .map((mutant) => ({ mutant, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, size)
    .map(({ mutant }) => mutant);
}

/** Rooms whose mistakes reach Nodes: nine of ten of a sample of their mutants have to die in `npm test`. */
const REACHES_NODES = /^coordinator\/(decide|write|state|ingest)(\/|$)/;
const REACHES_NODES_FLOOR = 90;

/** Whether the share that was killed is no lower than the floor of the room. */
export function tryRoom(say: (line: string) => void, room: string, options: RoomOptions): Promise<boolean> {
  const floor = (FLOORS as Record<string, number>)[room] ?? FLOORS.default;
  return tryAll(say, { name: room, all: mutantsOf(room, options.part), floor }, options);
}

/** The same of all rooms that decide, write, keep state and accept reports, as if they were one. */
export function tryRoomsThatReachNodes(say: (line: string) => void, options: RoomOptions): Promise<boolean> {
  const rooms = Object.keys(ROOM_IMPORTS).filter((room) => REACHES_NODES.test(room));
  const all = rooms.flatMap((room) => mutantsOf(room, options.part));
  return tryAll(say, { name: 'decide, write, state and ingest', all, floor: REACHES_NODES_FLOOR }, options);
}

type Rooms = { name: string; all: readonly Mutant[]; floor: number };

async function tryAll(
  say: (line: string) => void,
  { name, all, floor }: Rooms,
  { sample, seed, besideOnly }: RoomOptions,
): Promise<boolean> {
  const chosen = sampleOf(all, sample, generator(seed));
  say(`${name}: ${chosen.length} of ${all.length} mutants, seed ${seed}`);
  let survivors = 0;
  await inCopy(async (copy) => {
    const limitMs = await limitOf(copy.tests, chosen, besideOnly);
    for (const mutant of chosen) {
      const run = await tryMutant(copy, mutant, { limitMs, besideOnly });
      if (run.result === 'overtime') say(`  overtime  ${mutant.file}:${mutant.line}: ${mutant.what}`);
      // A test file that cannot even be loaded, or a run that broke off: to be looked at if there are many.
      if (run.result === 'failed' && !run.by) say(`  no test   ${mutant.file}:${mutant.line}: ${mutant.what}`);
      if (run.result !== 'passed') continue;
      survivors += 1;
      say(`  SURVIVED  ${mutant.file}:${mutant.line}: ${mutant.what}`);
    }
  });
  const killed = chosen.length - survivors;
  const percent = chosen.length === 0 ? 100 : Math.floor((100 * killed) / chosen.length);
  say(`${name}: ${killed} of ${chosen.length} killed, ${percent} %; the floor is ${floor} %`);
  return percent >= floor;
}

/** How long a run may take, by how long it takes as it is. Throws when the tests do not pass as it is. */
async function limitOf(tests: KeptVitest, mutants: readonly Mutant[], besideOnly: boolean): Promise<number> {
  const files = [...new Set(mutants.map(({ file }) => file))];
  const folders = [...new Set(files.map((file) => `${path.dirname(file)}/`))];
  const run = await tests.run(besideOnly ? { paths: folders } : { related: files }, AS_IT_IS_MS);
  if (run.result !== 'passed') throw new Error(`The tests do not pass as they are: ${JSON.stringify(run)}`);
  return Math.max(OVERTIME_LEAST_MS, OVERTIME_FACTOR * run.tookMs);
}
