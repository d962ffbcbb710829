import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { generator } from '../model/random.ts';
import { ROOM_IMPORTS } from '../tidy/rooms.ts';
import { isTestCode, ROOT, repositoryFiles, roomOf } from '../tidy/sources.ts';
import { copyRepository } from './copy.ts';
import FLOORS from './floors.json' with { type: 'json' };
import { type Mutation, mutated, mutationsOf } from './mutations.ts';
import { runTests, type TestRun } from './run-tests.ts';
import { runShipped } from './shipped.ts';

const USAGE = `npm run mutants -- ROOM [--sample N] [--seed S] [--file PART]
npm run mutants -- shipped [NAME]

ROOM is one of test/tidy/rooms.ts, such as coordinator/kube; kube is enough. Of its mutants, all are tried, or a sample of N.
`;

/** Beside what the tests took as they are, on a machine that is busy with other things as well. */
const OVERTIME_FACTOR = 6;
const OVERTIME_LEAST_MS = 60_000;

type Mutant = Mutation & { file: string };

const say = (line: string) => process.stdout.write(`${line}\n`);

function roomNamed(name: string): string | undefined {
  const rooms = Object.keys(ROOM_IMPORTS);
  return rooms.find((room) => room === name) ?? rooms.find((room) => room.endsWith(`/${name}`));
}

function mutantsOf(room: string, part: string): Mutant[] {
  return repositoryFiles()
    .filter(({ path: file }) => file.endsWith('.ts') && !isTestCode(file) && roomOf(file) === room)
    .filter(({ path: file }) => file.includes(part))
    .flatMap(({ path: file, text }) => mutationsOf(text).map((mutation) => ({ ...mutation, file })));
}

function sampleOf(mutants: readonly Mutant[], size: number, random: () => number): Mutant[] {
  return mutants
    .map((mutant) => ({ mutant, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, size)
    .map(({ mutant }) => mutant);
}

/** First the tests beside the file, which most mutants do not survive; then all that reach it. */
async function tryMutant(directory: string, mutant: Mutant, limitMs: number): Promise<TestRun> {
  const file = path.join(directory, mutant.file);
  const original = readFileSync(file, 'utf8');
  writeFileSync(file, mutated(original, mutant));
  try {
    const beside = await runTests(directory, ['run', `${path.dirname(mutant.file)}/`], { limitMs });
    if (beside.result !== 'passed') return beside;
    return await runTests(directory, ['related', mutant.file, '--run'], { limitMs });
  } finally {
    writeFileSync(file, original);
  }
}

async function tryRoom(room: string, { sample, seed, part }: { sample: number; seed: number; part: string }) {
  const all = mutantsOf(room, part);
  const chosen = sampleOf(all, sample, generator(seed));
  say(`${room}: ${chosen.length} of ${all.length} mutants, seed ${seed}`);
  const copy = copyRepository(ROOT);
  try {
    const files = [...new Set(chosen.map(({ file }) => file))];
    const asItIs = await runTests(copy.directory, ['related', ...files, '--run'], { limitMs: 600_000 });
    if (asItIs.result !== 'passed') throw new Error(`The tests do not pass as they are: ${JSON.stringify(asItIs)}`);
    const limitMs = Math.max(OVERTIME_LEAST_MS, OVERTIME_FACTOR * asItIs.tookMs);
    let survivors = 0;
    for (const mutant of chosen) {
      const run = await tryMutant(copy.directory, mutant, limitMs);
      if (run.result === 'overtime') say(`  overtime  ${mutant.file}:${mutant.line}: ${mutant.what}`);
      // A test file that cannot even be loaded, or a run that broke off: to be looked at if there are many.
      if (run.result === 'failed' && !run.by) say(`  no test   ${mutant.file}:${mutant.line}: ${mutant.what}`);
      if (run.result !== 'passed') continue;
      survivors += 1;
      say(`  SURVIVED  ${mutant.file}:${mutant.line}: ${mutant.what}`);
    }
    return { killed: chosen.length - survivors, tried: chosen.length };
  } finally {
    copy.remove();
  }
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { sample: { type: 'string' }, seed: { type: 'string' }, file: { type: 'string' } },
  });
  const [what, name] = positionals;
  if (what === 'shipped') return (await runShipped(say, name)) ? 0 : 1;
  const room = what && roomNamed(what);
  if (!room) {
    process.stderr.write(USAGE);
    return 2;
  }
  const sample = Number(values.sample ?? Number.POSITIVE_INFINITY);
  const { killed, tried } = await tryRoom(room, { sample, seed: Number(values.seed ?? 1), part: values.file ?? '' });
  const percent = tried === 0 ? 100 : Math.floor((100 * killed) / tried);
  const floor = (FLOORS as Record<string, number>)[room] ?? FLOORS.default;
  say(`${room}: ${killed} of ${tried} killed, ${percent} %; the floor is ${floor} %`);
  return percent >= floor ? 0 : 1;
}

process.exitCode = await main();
