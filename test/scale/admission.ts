import type { ApiClient } from '../control-plane/api-client.ts';
import { AdmissionCluster } from './admission-cluster.ts';
import { eachOf } from './each-of.ts';
import { patchNode } from './patch-node.ts';
import { type Bench, type Measure, median } from './result.ts';

const NODES = 300;
const CONCURRENCY = 16;
const SETS = [0, 10, 100, 1000];
/** Number of Nodes that are created and deleted to measure the cost of a creation. */
const CREATED = 32;
/** For each that `--rounds` asks for: a write takes a millisecond, and is compared with a millisecond. */
const ROUNDS = 4;

type Pair = { bare: AdmissionCluster; fenced: AdmissionCluster };
/** Cost of one write: elapsed time, and CPU time of the API server. */
type Cost = { ms: number; cpuMs: number };
type Took = { bare: Cost; fenced: Cost };

/**
 * What stands in admission, for every writer of Nodes: milliseconds a write, beside an API server of the same
 * machine without it, one after the other in turns.
 */
export const benchAdmission: Bench = async (lab, { rounds }) => {
  const clusters: AdmissionCluster[] = [];
  const start = async (policies: boolean) => {
    const cluster = await AdmissionCluster.start({ nodes: NODES, policies });
    clusters.push(cluster);
    return cluster;
  };
  try {
    const pair = await lab.during('two API servers, one with the policies', async () => {
      return { bare: await start(false), fenced: await start(true) };
    });
    const measures: Measure[] = [];
    for (const sets of SETS) {
      measures.push(...(await lab.during(`${sets} NodePoolLabelSets`, () => benchSets(pair, sets, rounds * ROUNDS))));
    }
    return measures;
  } finally {
    for (const cluster of clusters) await cluster.stop();
  }
};

async function benchSets(pair: Pair, sets: number, rounds: number): Promise<Measure[]> {
  await pair.bare.growSets(sets, { known: false });
  await pair.fenced.growSets(sets, { known: true });
  const stranger = (value: string) => (cluster: AdmissionCluster) =>
    writeAll(cluster, cluster.stranger, 'stranger', { 'example.com/stranger': value });
  const coordinator = (value: string) => (cluster: AdmissionCluster) =>
    writeAll(cluster, cluster.coordinator, 'rollcall', value === 'even' ? READY : {});
  const strangers: Took[] = [];
  const coordinators: Took[] = [];
  const creations: Took[] = [];
  for (let round = 0; round < rounds; round++) {
    const value = round % 2 === 0 ? 'even' : 'odd';
    strangers.push(await inTurns(pair, round, stranger(value)));
    coordinators.push(await inTurns(pair, round, coordinator(value)));
    if (round % ROUNDS === 0) creations.push(await inTurns(pair, round, createSome));
  }
  return [
    ...measuresOf(`a stranger's write, ${sets} sets`, strangers, 1.05),
    ...measuresOf(`a coordinator's write, ${sets} sets`, coordinators, 1.2),
    ...measuresOf(`a creation, ${sets} sets`, creations),
  ];
}

const READY = {
  'gitpod.io/ws-daemon_ready_ns_default': 'true',
  'gitpod.io/registry-facade_ready_ns_default': 'true',
};

/** Who goes first changes from round to round. */
async function inTurns(
  { bare, fenced }: Pair,
  round: number,
  act: (cluster: AdmissionCluster) => Promise<Cost>,
): Promise<Took> {
  if (round % 2 === 0) {
    const first = await act(bare);
    return { bare: first, fenced: await act(fenced) };
  }
  const first = await act(fenced);
  return { fenced: first, bare: await act(bare) };
}

/** What one of `count` costs. */
async function costOf(cluster: AdmissionCluster, count: number, act: () => Promise<unknown>): Promise<Cost> {
  const cpuMs = await cluster.cpuMs();
  const startMs = performance.now();
  await act();
  return { ms: (performance.now() - startMs) / count, cpuMs: ((await cluster.cpuMs()) - cpuMs) / count };
}

function writeAll(
  cluster: AdmissionCluster,
  client: ApiClient,
  manager: string,
  labels: Record<string, string>,
): Promise<Cost> {
  const { names } = cluster;
  const write = (name: string) => patchNode(client, { kind: 'apply', name, manager, labels });
  return costOf(cluster, names.length, () => eachOf(names, CONCURRENCY, write));
}

async function createSome(cluster: AdmissionCluster): Promise<Cost> {
  let names: string[] = [];
  const cost = await costOf(cluster, CREATED, async () => {
    names = await cluster.createNodes(CREATED);
  });
  await cluster.deleteNodes(names);
  return cost;
}

function measuresOf(what: string, took: readonly Took[], atMost?: number): Measure[] {
  const ratio = (of: keyof Cost) => median(took.map(({ bare, fenced }) => fenced[of] / bare[of]));
  return [
    { what: `${what}, floor`, value: median(took.map(({ bare }) => bare.ms)), unit: 'ms' },
    { what, value: median(took.map(({ fenced }) => fenced.ms)), unit: 'ms' },
    { what: `${what}, over the floor`, value: ratio('ms'), unit: '×', ...(atMost === undefined ? {} : { atMost }) },
    { what: `${what}, over the floor, CPU of the API server`, value: ratio('cpuMs'), unit: '×' },
  ];
}
