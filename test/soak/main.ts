import { parseArgs } from 'node:util';
import { describeError } from '@rollcall/common/coded-error.ts';
import { buildBundles } from '../../build.ts';
import { untilStopped } from '../control-plane/until-stopped.ts';
import { DEEDS } from './deeds.ts';
import { soak } from './run.ts';

const USAGE = `npm run soak [-- --minutes N] [--nodes N] [--seed N] [--without-real-nodes]

Runs two coordinators, two real nodes and a simulated fleet, breaks one thing after the other, and checks after each
whether every label, taint and condition is true. Ends with 1 where one was not, or where a program grew.

  --minutes             how long; 60 by default
  --nodes               simulated nodes; 300 by default
  --seed                the same order of deeds again
  --without-real-nodes  needs no root

Deeds: ${DEEDS.map(({ name }) => name).join('; ')}
`;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '60' },
        nodes: { type: 'string', default: '300' },
        seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
        'without-real-nodes': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const [minutes = 0, fleet = 0, seed = 0] = [values.minutes, values.nodes, values.seed].map(Number);
    if (![minutes, fleet, seed].every((each) => each > 0)) throw new Error('A number is not positive');
    if (!values.help) return { minutes, fleet, seed, realNodes: !values['without-real-nodes'] };
    process.stdout.write(USAGE);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n\n${USAGE}`);
    process.exitCode = 2;
  }
  return undefined;
}

const options = readOptions();
if (options) {
  const stopped = untilStopped();
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  try {
    await buildBundles();
    const { table, isGood } = await soak({ ...options, say, stopped });
    say(table);
    process.exit(isGood ? 0 : 1);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(1);
  }
}
