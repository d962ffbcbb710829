import { measureFloor } from './floor.ts';
import { type CpuMs, type Lab, spentSince } from './lab.ts';
import type { PatchKind } from './patch-node.ts';
import { READY_LABELS } from './ready-nodes.ts';
import { type Bench, type Measure, median } from './result.ts';

/** Where the coordinator's own writer begins, and up to what it may grow; the best of them is the floor. */
const APPLY_CONCURRENCIES = [16, 32, 64];
/** Concurrency with which the rivals' floor was measured. */
const MERGE_CONCURRENCY = 16;
const NO_CPU: CpuMs = { coordinator: 0, apiServer: 0, etcd: 0 };

/** `cpu`: of the applies. */
type Floors = { applyMs: number; mergeMs: number; concurrency: number; cpu: CpuMs };
type Round = {
  floors: Floors;
  coldMs: number;
  reportedMs: number;
  /** Until the last label; the coordinator's with its start. */
  cpu: CpuMs;
  events: number;
  reviews: number;
  goneMs: number;
  backMs: number;
  patches: number[];
};

/**
 * Everything exists, no node has its labels, and a coordinator begins to lead: how long until the last node has them,
 * over what a bare loop needs for as many writes. Then all services go at once, and come back.
 */
export const benchCold: Bench = async (lab, { nodes, rounds }) => {
  await lab.grow(nodes);
  const all: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    all.push(await lab.during(`cold start ${round} of ${rounds}`, (update) => playRound(lab, update)));
  }
  const middle = (value: (round: Round) => number) => median(all.map(value));
  const patches = all.flatMap((round) => round.patches.map((count) => count / lab.fleet.names.length));
  return [
    { what: 'floor: a bare loop of applies', value: middle(({ floors }) => floors.applyMs) / 1000, unit: 's' },
    { what: 'floor: its concurrency', value: middle(({ floors }) => floors.concurrency), unit: '' },
    { what: 'floor: a bare loop of merge patches', value: middle(({ floors }) => floors.mergeMs) / 1000, unit: 's' },
    { what: 'leadership → last label', value: middle(({ coldMs }) => coldMs) / 1000, unit: 's' },
    {
      what: 'of which until the last report was taken',
      value: middle(({ reportedMs }) => reportedMs) / 1000,
      unit: 's',
    },
    ...cpuMeasures(
      'floor of applies',
      lab.fleet.names.length,
      all.map(({ floors }) => floors.cpu),
    ),
    ...cpuMeasures(
      'leadership → last label',
      lab.fleet.names.length,
      all.map(({ cpu }) => cpu),
    ),
    { what: 'Events written meanwhile', value: middle((round) => round.events), unit: '' },
    {
      what: 'leadership → last label, over the floor of applies',
      value: middle((r) => r.coldMs / r.floors.applyMs),
      unit: '×',
      atMost: 1.15,
    },
    {
      what: 'leadership → last label, over the floor of merge patches',
      value: middle((r) => r.coldMs / r.floors.mergeMs),
      unit: '×',
      atMost: 1.4,
    },
    { what: 'all services gone, over the merge floor', value: middle((r) => r.goneMs / r.floors.mergeMs), unit: '×' },
    {
      what: 'all services back, over the apply floor',
      value: middle((r) => r.backMs / r.floors.applyMs),
      unit: '×',
      atMost: 1.15,
    },
    { what: 'TokenReviews, most', value: Math.max(...all.map(({ reviews }) => reviews)), unit: '', exactly: 0 },
    { what: 'PATCHes a node, fewest', value: Math.min(...patches), unit: '', exactly: 1 },
    { what: 'PATCHes a node, most', value: Math.max(...patches), unit: '', exactly: 1 },
  ];
};

async function playRound(lab: Lab, update: (text: string) => void): Promise<Round> {
  const { fleet } = lab;
  await lab.standDown();
  await lab.unlabel();
  update('floor');
  const floors = await measureFloors(lab);
  const patches = [await lab.settledPatches()];
  const [eventsBefore, reviewsBefore] = [await lab.eventWrites(), await lab.tokenReviews()];
  update('start');
  const before = await lab.cpuMs();
  const leadMs = await lab.lead();
  const { reportedMs, coldMs } = await lab.profiled('cold', async () => {
    await fleet.report(fleet.names, { ready: true });
    return { reportedMs: performance.now() - leadMs, coldMs: (await lab.settled(2)) - leadMs };
  });
  const events = (await lab.eventWrites()) - eventsBefore;
  const reviews = (await lab.tokenReviews()) - reviewsBefore;
  const cpu = await spentSince(lab, before);
  patches.push(await lab.settledPatches());
  update('all services go');
  const goneMs = await turn(lab, false);
  patches.push(await lab.settledPatches());
  update('all services come back');
  const backMs = await lab.profiled('back', () => turn(lab, true));
  patches.push(await lab.settledPatches());
  const counts = patches.slice(1).map((count, index) => count - (patches[index] ?? 0));
  return { floors, coldMs, reportedMs, cpu, events, reviews, goneMs, backMs, patches: counts };
}

/** Measures bare loops as the coordinator's account, through its fence, with the labels that it sets. */
async function measureFloors(lab: Lab): Promise<Floors> {
  const { controlPlane, coordinatorToken } = lab.cluster;
  const client = await controlPlane.clientFor(coordinatorToken);
  const measure = async (kind: PatchKind, concurrency: number) => {
    const before = await lab.cpuMs();
    const { ms, remove } = await measureFloor(client, lab.fleet.names, { kind, concurrency, keys: READY_LABELS });
    const cpu = await spentSince(lab, before);
    await remove();
    await lab.settled(0);
    return { ms, cpu };
  };
  try {
    let best: Omit<Floors, 'mergeMs'> = { applyMs: Number.POSITIVE_INFINITY, concurrency: 0, cpu: NO_CPU };
    for (const concurrency of APPLY_CONCURRENCIES) {
      const { ms, cpu } = await measure('apply', concurrency);
      if (ms < best.applyMs) best = { applyMs: ms, concurrency, cpu };
    }
    return { ...best, mergeMs: (await measure('merge', MERGE_CONCURRENCY)).ms };
  } finally {
    client.close();
  }
}

/** Milliseconds of CPU for each node. */
export function cpuMeasures(what: string, nodes: number, all: readonly CpuMs[]): Measure[] {
  const of = (program: keyof CpuMs) => median(all.map((cpu) => cpu[program])) / nodes;
  return [
    { what: `${what}: CPU of the API server a node`, value: of('apiServer'), unit: 'ms' },
    { what: `${what}: CPU of etcd a node`, value: of('etcd'), unit: 'ms' },
    { what: `${what}: CPU of the coordinator a node`, value: of('coordinator'), unit: 'ms' },
  ];
}

/** Changes the evidence of all agents at once; returns the milliseconds until the last label has followed. */
async function turn(lab: Lab, ready: boolean): Promise<number> {
  const startMs = performance.now();
  await lab.fleet.report(lab.fleet.names, { ready });
  return (await lab.settled(ready ? 2 : 0)) - startMs;
}
