import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../control-plane/environment.ts';
import { run } from '../control-plane/run.ts';
import { findTlc } from './tlc.ts';
import { CODE_MUTANTS } from './traces/code-mutants.ts';
import { recordTrace, type TraceEvent } from './traces/trace.ts';
import { explain, validate } from './traces/validate.ts';

/** The same in each run of the suite; so many new ones where that is asked for. */
const asked = process.env['ROLLCALL_TRACES'];
const COUNT = Number(asked ?? 350);
const FROM = asked === undefined ? 1 : Math.floor(Math.random() * 2 ** 30);
/** A mutant shows in so many traces. */
const OF_MUTANT = 40;

const tlc = await findTlc();
const missing = typeof tlc === 'string' ? undefined : tlc.missing;
const jar = typeof tlc === 'string' ? tlc : '';
const timeout = 300_000 + COUNT * 3000;

describe.skipIf(missing)(`what the code does${missing ? ` (${missing})` : ''}`, () => {
  test('is a behavior of the specification, whatever disturbs two coordinators', { timeout }, async () => {
    const traces: TraceEvent[][] = [];
    for (let index = 0; index < COUNT; index += 1) traces.push(await recordTrace(FROM + index));
    const { rejected, states } = await validate(jar, traces);
    const [[at, why] = []] = rejected;
    const trace = traces[at ?? -1];
    expect(trace && `seed ${FROM + (at ?? 0)} ${why}: ${await explain(jar, trace)}`).toBeUndefined();
    expect(states).toBeGreaterThan(COUNT * 100);
    const kinds = new Set(traces.flat().map(([kind]) => kind));
    expect(KINDS.filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  test.for(CODE_MUTANTS)('is none with $name', async ({ name }) => {
    const { variables } = readEnvironment();
    const recorder = ['--disable-warning=ExperimentalWarning', `${import.meta.dirname}/traces/main.ts`];
    const { code, out, err } = await run(process.execPath, [...recorder, '1', `${OF_MUTANT}`, name], variables);
    expect(code, err).toBe(0);
    const traces = out
      .trim()
      .split('\n')
      .map((line): TraceEvent[] => JSON.parse(line));
    expect(traces).toHaveLength(OF_MUTANT);
    const { rejected } = await validate(jar, traces);
    expect(rejected.size).toBeGreaterThan(0);
  });
});

/** All but `late`, which is rare: a request that was given up is seldom carried out. */
const KINDS = [
  'answer',
  'ask',
  'done',
  'effect',
  'free',
  'give up',
  'lead',
  'put',
  'rest',
  'stop',
  'tick',
  'write',
] as const;
