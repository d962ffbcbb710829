import { setTimeout as sleep } from 'node:timers/promises';
import { observeNodeService } from '@rollcall/coordinator/state/services/node-service.ts';
import { GROUP_LABEL } from './fleet-objects.ts';
import { createGrowthFleet, type GrowthFleet } from './growth-fleet.ts';
import { type BenchOptions, type Measure, median } from './result.ts';

const SIZES = [100, 1000, 10_000];
const POOL_SIZE = 50;
/** So many nodes are changed at a time, whatever the size of the fleet. */
const CHANGED = 50;
const TURNS = 20;
const WARM_UP = 5;

type Kind = {
  name: string;
  /** Whether nothing is to be written for it. */
  isQuiet?: boolean;
  /** Until what it leads to begins, in milliseconds. */
  gatheredMs?: number;
  /**
   * The same nodes each time: which become one thing and the other in turn, or of which everything is in the processor's
   * caches by then. Else each turn has others, and in a large fleet comes to each of them for the first time in a while.
   */
  isSame?: boolean;
  /** One turn; `turn` grows. Returns on how many nodes it has to show. */
  act: (fleet: GrowthFleet, names: readonly string[], turn: number) => number;
};

const each = (act: (fleet: GrowthFleet, name: string, turn: number) => void): Kind['act'] => {
  return (fleet, names, turn) => {
    for (const name of names) act(fleet, name, turn);
    return names.length;
  };
};

const KINDS: readonly Kind[] = [
  // First, while no agent counts as silent yet: the fleet sends nothing by itself.
  {
    name: 'what is done each second, such as counting for the guards',
    isQuiet: true,
    act: (fleet) => {
      fleet.tick();
      return fleet.names.length;
    },
  },
  { name: 'a heartbeat', isQuiet: true, act: each((fleet, name) => fleet.heartbeat(name)) },
  {
    name: 'a heartbeat, of the same nodes each time',
    isQuiet: true,
    isSame: true,
    act: each((fleet, name) => fleet.heartbeat(name)),
  },
  { name: 'a full report that says the same', isQuiet: true, act: each((fleet, name) => fleet.report(name, true)) },
  {
    name: 'a full report that says the same, of the same nodes each time',
    isQuiet: true,
    isSame: true,
    act: each((fleet, name) => fleet.report(name, true)),
  },
  {
    name: 'a report that changes a verdict',
    isSame: true,
    act: each((fleet, name, turn) => fleet.report(name, turn % 2 === 1)),
  },
  { name: 'a Node event that changes nothing', isQuiet: true, act: each((fleet, name) => fleet.nodeEvent(name)) },
  { name: 'a Node event with another label', act: each((fleet, name, turn) => fleet.nodeEvent(name, `v${turn}`)) },
  {
    name: 'a pod that is ready, or not',
    isSame: true,
    act: each((fleet, name, turn) => fleet.podEvent(name, turn % 2 === 1)),
  },
  {
    name: 'another label for a pool',
    act: (fleet, _names, turn) => {
      fleet.poolEvent(fleet.poolOf(0), { 'example.com/tier': `v${turn}` });
      return POOL_SIZE;
    },
  },
  {
    name: 'another NodeService for all nodes',
    gatheredMs: 100,
    act: (fleet, _names, turn) => {
      fleet.serviceEvent(serviceObject(turn));
      return fleet.names.length;
    },
  },
];

/** What the coordinator computes for one node that changes, by the kind of event, in fleets of several sizes. */
export async function benchGrowth(_options?: BenchOptions, sizes: readonly number[] = SIZES): Promise<Measure[]> {
  const costs = new Map<string, number[]>();
  let writes = 0;
  for (const size of sizes) {
    const fleet = await createGrowthFleet(size, POOL_SIZE);
    for (const name of fleet.names) fleet.report(name, true);
    await fleet.settled();
    for (const kind of KINDS) {
      const before = fleet.writes;
      costs.set(kind.name, [...(costs.get(kind.name) ?? []), await costOf(fleet, kind)]);
      if (kind.isQuiet) writes += fleet.writes - before;
    }
    await fleet.stop();
  }
  const quiet: Measure = { what: 'PATCHes for what changes nothing', value: writes, unit: '', exactly: 0 };
  const table = [...costs].flatMap(([name, micros]): Measure[] => {
    const [small = 0] = micros;
    const large = micros.at(-1) ?? Number.NaN;
    return [
      ...sizes.map(
        (size, index): Measure => ({
          what: `${name}, of ${size} nodes`,
          value: micros[index] ?? Number.NaN,
          unit: 'µs',
        }),
      ),
      { what: `${name}: the largest over the smallest`, value: large / small, unit: '×', atMost: 1.5 },
    ];
  });
  return [quiet, ...table];
}

/** Microseconds of CPU a node; the median of several turns, after some that are not counted. */
async function costOf(fleet: GrowthFleet, { act, isSame = false, gatheredMs = 0 }: Kind): Promise<number> {
  const step = Math.max(1, Math.floor(fleet.names.length / CHANGED));
  const first = fleet.names.slice(0, CHANGED);
  const spread = (turn: number) =>
    first.map((_, index) => fleet.names[(index * step + turn) % fleet.names.length] ?? '');
  const turns: number[] = [];
  await fleet.idle();
  for (let turn = 0; turn < WARM_UP + TURNS; turn += 1) {
    const names = isSame ? first : spread(turn);
    const before = process.cpuUsage();
    const changed = act(fleet, names, turn);
    if (gatheredMs > 0) await sleep(gatheredMs);
    await fleet.settled();
    const { user, system } = process.cpuUsage(before);
    turns.push((user + system) / changed);
  }
  return median(turns.slice(WARM_UP));
}

function serviceObject(generation: number) {
  const metadata = {
    uid: 'uid-growth',
    name: 'growth',
    generation,
    resourceVersion: `${generation}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  const spec = {
    nodeSelector: { matchLabels: { [GROUP_LABEL]: '0' } },
    checks: [{ name: 'port', http: { port: 9000 + generation, path: '/healthz' } }],
  };
  return observeNodeService({ metadata, spec } as Parameters<typeof observeNodeService>[0]);
}
