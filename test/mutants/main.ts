import { parseArgs } from 'node:util';
import { ROOM_IMPORTS } from '../tidy/rooms.ts';
import { runNamed } from './named.ts';
import { mutantsOf, type RoomOptions, roomNamed, tryRoom, tryRoomsThatReachNodes } from './room.ts';
import { runShipped } from './shipped.ts';

const USAGE = `npm run mutants -- ROOM [--sample N] [--seed S] [--file PART] [--beside]
npm run mutants -- named [PART]
npm run mutants -- shipped [NAME]
npm run mutants -- deciding [--sample N] [--seed S]
npm run mutants -- nightly [--sample N] [--seed S]

ROOM is one of test/tidy/rooms.ts, such as coordinator/kube; kube is enough. Of its mutants, all are tried, or a sample
of N. --beside tries them on the tests in their own directory alone. deciding is all rooms that decide, write,
keep state and accept reports, with a sample of 100; nightly is all of it, with samples of 40.
`;

const SAMPLES: Readonly<Record<string, number>> = { deciding: 100, nightly: 40 };

const say = (line: string) => process.stdout.write(`${line}\n`);

/** Named mutants, shipped defects, and a sample of every room; whether all is as it has to be. */
async function runNightly(options: RoomOptions): Promise<boolean> {
  const results = [await runNamed(say), await runShipped(say)];
  for (const room of Object.keys(ROOM_IMPORTS)) {
    if (mutantsOf(room).length > 0) results.push(await tryRoom(say, room, options));
  }
  return !results.includes(false);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sample: { type: 'string' },
      seed: { type: 'string' },
      file: { type: 'string' },
      beside: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const [what = '', name] = positionals;
  if (what === 'shipped') return (await runShipped(say, name)) ? 0 : 1;
  if (what === 'named') return (await runNamed(say, name)) ? 0 : 1;
  const options: RoomOptions = {
    sample: Number(values.sample ?? SAMPLES[what] ?? Number.POSITIVE_INFINITY),
    seed: Number(values.seed ?? 1),
    part: values.file ?? '',
    besideOnly: values.beside ?? false,
  };
  if (what === 'deciding') return (await tryRoomsThatReachNodes(say, options)) ? 0 : 1;
  if (what === 'nightly') return (await runNightly(options)) ? 0 : 1;
  const room = roomNamed(what);
  if (room) return (await tryRoom(say, room, options)) ? 0 : 1;
  process.stderr.write(USAGE);
  return 2;
}

process.exitCode = await main();
