import { check, type Model } from '../tlc.ts';
import { COORDINATORS, TICK_MS, type TraceEvent } from './trace.ts';

/** The times of the code. `D`: more than a request is under way in the traces. */
const LEASE_TRACE: Model = {
  module: 'LeaseTrace',
  extended: ['LeaseFence'],
  specification: 'TraceSpec',
  constants: {
    Coordinators: `{${COORDINATORS.map((name) => `"${name}"`).join(', ')}}`,
    ...{ R: ticks(10_000), L: ticks(15_000), T: ticks(10_000), D: '5', Drift: '2', WritesMax: '1' },
    ...Object.fromEntries(
      ['Fenced', 'Timeouts', 'Parts', 'Waits', 'Compares', 'FromBegin'].map((name) => [name, 'TRUE']),
    ),
    // `LeaseTrace` counts writes as the code does.
    ...{ Settles: 'FALSE', SettlesOwn: 'FALSE' },
  },
  invariants: ['NoOldWrite', 'OneWriter'],
};

/** TLC reads traces faster in pieces. */
const TRACES_AT_ONCE = 250;

type Validation = {
  /** Why traces are no behaviors of the specification: by their place in the list, from 0. */
  rejected: ReadonlyMap<number, string>;
  states: number;
};

/** Whether traces are behaviors of `LeaseFence`. */
export async function validate(jar: string, traces: readonly (readonly TraceEvent[])[]): Promise<Validation> {
  const rejected = new Map<number, string>();
  let states = 0;
  for (let from = 0; from < traces.length; from += TRACES_AT_ONCE) {
    const piece = traces.slice(from, from + TRACES_AT_ONCE);
    const found = await check(jar, { ...modelOf(piece), invariants: [...LEASE_TRACE.invariants, 'Accepted'] });
    states += found.states;
    if (found.violated !== undefined) {
      rejected.set(from, `${found.violated} is violated:\n${found.trace}`);
      continue;
    }
    for (const index of piece.keys()) {
      if (found.printed.has(`<<"accepted", ${index + 1}>>`)) continue;
      rejected.set(from + index, 'is no behavior of the specification');
    }
  }
  return { rejected, states };
}

/** The event that a rejected trace does not come beyond, with those before it. */
export async function explain(jar: string, trace: readonly TraceEvent[]): Promise<string> {
  const { printed } = await check(jar, { ...modelOf([trace]), invariants: ['Told'] });
  const furthest = Math.max(...[...printed].map((line) => Number(/(\d+)>>/.exec(line)?.[1] ?? 0)));
  const lines = trace.slice(0, furthest).map((event, index) => `${index + 1}: ${event.join(' ')}`);
  return `no step of the specification is the last of these:\n${lines.slice(-60).join('\n')}`;
}

function modelOf(traces: readonly (readonly TraceEvent[])[]): Model {
  const text = (value: string | number) => (typeof value === 'string' ? `"${value}"` : String(value));
  const tuple = (items: readonly string[]) => `<<${items.join(', ')}>>`;
  const all = traces.map((trace) => tuple(trace.map((event) => tuple(event.map(text)))));
  const module = `---- MODULE Traces ----\nTraces == <<\n${all.join(',\n')}\n>>\n====\n`;
  return { ...LEASE_TRACE, made: { Traces: module } };
}

function ticks(ms: number): string {
  return String(ms / TICK_MS);
}
