import { parseArgs } from 'node:util';
import { describeError } from '@rollcall/common/coded-error.ts';
import { buildBundles } from '../../build.ts';
import { KINDS, type Kind } from './plans.ts';
import { SCENARIOS } from './scenarios.ts';
import { account, isGood, playAll, type Reference, tableOf } from './suite.ts';
import { plansFor } from './verdict.ts';

const NAMES = SCENARIOS.map(({ name }) => name);
const ALL_KINDS = Object.keys(KINDS) as Kind[];

const USAGE = `npm run perturb [-- SCENARIO…] [--kind KIND,…] [--write NAME [--nth N]] [--lanes N] [--minutes N]

Plays each scenario once as it is, and then once for each of its writes and each kind of perturbation, on a real etcd
and real API servers. Ends with 1 unless every run comes to the same end.

  SCENARIO    ${NAMES.join(', ')}; all by default
${ALL_KINDS.map((kind) => `  ${kind.padEnd(13)} ${KINDS[kind]}`).join('\n')}
  --kind      only these kinds; all by default
  --write     at writes of this name, as the account of a failure has it
  --nth       at the Nth of them
  --lanes     how many runs at once, each in a cluster of its own; 3 by default
  --minutes   begins no plan after so long: a random choice is played
`;

type Options = {
  names: string[];
  kinds: Kind[];
  write: string | undefined;
  nth: number | undefined;
  lanes: number;
  minutes: number | undefined;
};

function readOptions(): Options | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        kind: { type: 'string' },
        write: { type: 'string' },
        nth: { type: 'string' },
        lanes: { type: 'string', default: '3' },
        minutes: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const kinds = values.kind?.split(',') ?? ALL_KINDS;
    refuseUnknown('scenario', positionals, NAMES);
    refuseUnknown('kind', kinds, ALL_KINDS);
    const { help, write } = values;
    const nth = values.nth === undefined ? undefined : count('--nth', values.nth);
    const minutes = values.minutes === undefined ? undefined : count('--minutes', values.minutes);
    const names = positionals.length > 0 ? positionals : NAMES;
    if (!help) return { names, kinds: kinds as Kind[], write, nth, lanes: count('--lanes', values.lanes), minutes };
    process.stdout.write(USAGE);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n\n${USAGE}`);
    process.exitCode = 2;
  }
  return undefined;
}

function refuseUnknown(what: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.filter((each) => !known.includes(each));
  if (unknown.length > 0) throw new Error(`There is no ${what} ${unknown.join(', ')}`);
}

function count(flag: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${flag} ${text} is not a positive whole number`);
  return Number(text);
}

/** Returns the exit code. */
async function run({ names, kinds, write, nth, lanes, minutes }: Options): Promise<number> {
  await buildBundles();
  const references: Reference[] = [];
  const results = await playAll({
    lanes,
    minutes,
    scenarios: SCENARIOS.filter(({ name }) => names.includes(name)),
    choose: (_scenario, reference) =>
      plansFor(reference, kinds).filter(
        (plan) => (write === undefined || plan.write === write) && (nth === undefined || plan.nth === nth),
      ),
    onReference: (reference) => references.push(reference),
    onResult: (result) => process.stdout.write(isGood(result) ? '.' : `\n${account(result)}\n`),
  });
  const inOrder = references.toSorted((a, b) => NAMES.indexOf(a.scenario) - NAMES.indexOf(b.scenario));
  process.stdout.write(`\n${tableOf(inOrder, results)}\n`);
  if (results.length > 0) return results.every(isGood) ? 0 : 1;
  process.stderr.write('No write is as told: nothing was played\n');
  return 2;
}

const options = readOptions();
if (options) {
  try {
    process.exit(await run(options));
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(1);
  }
}
