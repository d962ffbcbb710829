import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { describeError } from '@rollcall/common/coded-error.ts';
import { buildBundles } from '../../build.ts';
import { untilStopped } from '../control-plane/until-stopped.ts';
import { benchAdmission } from './admission.ts';
import { benchAgent } from './agent.ts';
import { benchBurst } from './burst.ts';
import { benchCold } from './cold.ts';
import { type Earlier, measuredBefore, readResult } from './earlier.ts';
import { benchFailover } from './failover.ts';
import { benchFlood } from './flood.ts';
import { benchGate } from './gate.ts';
import { benchGrowth } from './growth.ts';
import { benchHerd } from './herd.ts';
import { benchIngest } from './ingest.ts';
import { benchJoin } from './join.ts';
import { Lab } from './lab.ts';
import { machineFacts } from './machine.ts';
import { benchReplica } from './replica.ts';
import type { Bench, BenchOptions, Measure } from './result.ts';
import { benchSchedulers } from './schedulers.ts';
import { benchServices } from './services.ts';
import { benchSteady } from './steady.ts';
import { keyOf, roundOf, tableOf } from './table.ts';
import { benchWatched } from './watched.ts';

/** In the order in which they are run. */
const BENCHES: Readonly<Record<string, Bench>> = {
  join: benchJoin,
  cold: benchCold,
  burst: benchBurst,
  steady: benchSteady,
  watched: benchWatched,
  ingest: benchIngest,
  services: benchServices,
  admission: benchAdmission,
  herd: benchHerd,
  replica: benchReplica,
  flood: benchFlood,
  schedulers: benchSchedulers,
  failover: benchFailover,
  gate: benchGate,
};

/** What needs no cluster, and brings its own nodes. */
const ALONE: Readonly<Record<string, (options: BenchOptions) => Promise<Measure[]>>> = {
  agent: benchAgent,
  growth: benchGrowth,
};
const NAMES = [...Object.keys(BENCHES), ...Object.keys(ALONE)];

const USAGE = `npm run bench -- [NAME…] [--nodes N] [--rounds N] [--idle-seconds N] [--compare FILE] [--profile DIR]

Measures rollcall on a real control plane with a simulated fleet, and prints each result beside its budget. All of
${NAMES.join(', ')} by default.

  --nodes N         size of the fleet; 1000 by default
  --rounds N        how often what is compared with a floor is repeated; 3 by default
  --idle-seconds N  how long the idle fleet is looked at; 60 by default
  --compare FILE    a result of an earlier run, shown beside the new one of the same bench and size; may be repeated
  --profile DIR     writes profiles of the coordinator there, for Chrome; what is measured costs more meanwhile
`;

const RESULTS = path.join(import.meta.dirname, 'results');
/** Exit status of a shell after Ctrl-C. */
const STOPPED_EARLY = 130;

type Options = BenchOptions & { names: string[]; profiles: string | undefined; earlier: Earlier[] };

function readOptions(): Options | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        nodes: { type: 'string', default: '1000' },
        rounds: { type: 'string', default: '3' },
        'idle-seconds': { type: 'string', default: '60' },
        profile: { type: 'string' },
        compare: { type: 'string', multiple: true, default: [] },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const unknown = positionals.filter((name) => !NAMES.includes(name));
    if (unknown.length > 0) throw new Error(`There is no bench ${unknown.join(', ')}`);
    const count = (text: string) => {
      if (!/^[1-9]\d*$/.test(text)) throw new Error(`${text} is not a positive whole number`);
      return Number(text);
    };
    const options = {
      nodes: count(values.nodes),
      rounds: count(values.rounds),
      idleSeconds: count(values['idle-seconds']),
      profiles: values.profile,
      earlier: values.compare.map(readResult),
    };
    if (!values.help) return { ...options, names: positionals.length > 0 ? positionals : NAMES };
    process.stdout.write(USAGE);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n\n${USAGE}`);
    process.exitCode = 2;
  }
  return undefined;
}

/** Whatever was started and is not taken down in order, because a stop came early, dies with this process. */
async function run({ names, earlier, ...options }: Options, stopped: Promise<string>): Promise<number> {
  await buildBundles();
  const onCluster = Object.entries(BENCHES).filter(([name]) => names.includes(name));
  if (onCluster.length > 0 && !(await runOnCluster(onCluster, { ...options, earlier }, stopped))) return STOPPED_EARLY;
  for (const [name, bench] of Object.entries(ALONE).filter(([each]) => names.includes(each))) {
    const machine = machineFacts();
    const measures = await Promise.race([bench(options), stopped]);
    if (typeof measures === 'string') return STOPPED_EARLY;
    process.stdout.write(`${tableOf(name, measures, measuredBefore(earlier, name, name))}\n\n`);
    await keep(name, name, options, machine, measures);
  }
  return 0;
}

/** Returns whether it came to its end. */
async function runOnCluster(
  benches: readonly [string, Bench][],
  { profiles, earlier, ...options }: Omit<Options, 'names'>,
  stopped: Promise<string>,
): Promise<boolean> {
  const lab = await Promise.race([Lab.open(process.stderr, profiles), stopped]);
  if (typeof lab === 'string') return false;
  try {
    for (const [name, bench] of benches) {
      const machine = machineFacts();
      const measures = await Promise.race([bench(lab, options), stopped]);
      if (typeof measures === 'string') return false;
      const file = `${name}-${options.nodes}`;
      const before = measuredBefore(earlier, name, file);
      process.stdout.write(`${tableOf(`${name}, ${options.nodes} nodes`, measures, before)}\n\n`);
      await keep(name, file, options, machine, measures);
    }
    return true;
  } finally {
    await lab.stop();
  }
}

/** The last result of each bench and size, so that the history of the file is the history of the speed. */
async function keep(
  name: string,
  file: string,
  options: BenchOptions,
  machine: object,
  measures: readonly Measure[],
): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  const measured = Object.fromEntries(measures.map((measure) => [keyOf(measure), roundOf(measure.value)]));
  const at = new Date().toISOString();
  await writeFile(
    path.join(RESULTS, `${file}.json`),
    `${JSON.stringify({ bench: name, at, ...options, machine, measured }, undefined, 2)}\n`,
  );
}

const options = readOptions();
if (options) {
  const stopped = untilStopped();
  try {
    process.exit(await run(options, stopped));
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(1);
  }
}
