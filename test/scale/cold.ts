import { measureFloor } from './floor.ts';
import type { Lab } from './lab.ts';
import { processUsage } from './process-usage.ts';
import { type Bench, median } from './result.ts';

/** Where the coordinator's own writer begins, and up to what it may grow; the best of them is the floor. */
const APPLY_CONCURRENCIES = [16, 32, 64];
/** What the rivals' floor was measured with. */
const MERGE_CONCURRENCY = 16;

type Floors = { applyMs: number; mergeMs: number; concurrency: number };
type Round = Floors & {
  coldMs: number;
  reportedMs: number;
  cpuMs: number;
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
    { what: 'floor: a bare loop of applies', value: middle(({ applyMs }) => applyMs) / 1000, unit: 's' },
    { what: 'floor: its concurrency', value: middle(({ concurrency }) => concurrency), unit: '' },
    { what: 'floor: a bare loop of merge patches', value: middle(({ mergeMs }) => mergeMs) / 1000, unit: 's' },
    { what: 'leadership → last label', value: middle(({ coldMs }) => coldMs) / 1000, unit: 's' },
    {
      what: 'of which until the last report was taken',
      value: middle(({ reportedMs }) => reportedMs) / 1000,
      unit: 's',
    },
    { what: 'CPU of the coordinator, its start included', value: middle(({ cpuMs }) => cpuMs) / 1000, unit: 's' },
    { what: 'Events written meanwhile', value: middle((round) => round.events), unit: '' },
    {
      what: 'leadership → last label, over the floor of applies',
      value: middle((r) => r.coldMs / r.applyMs),
      unit: '×',
      atMost: 1.15,
    },
    {
      what: 'leadership → last label, over the floor of merge patches',
      value: middle((r) => r.coldMs / r.mergeMs),
      unit: '×',
      atMost: 1.4,
    },
    { what: 'all services gone, over the merge floor', value: middle((r) => r.goneMs / r.mergeMs), unit: '×' },
    {
      what: 'all services back, over the apply floor',
      value: middle((r) => r.backMs / r.applyMs),
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
  const leadMs = await lab.lead();
  await fleet.report(fleet.names, { ready: true });
  const reportedMs = performance.now() - leadMs;
  const coldMs = (await lab.settled(2)) - leadMs;
  const events = (await lab.eventWrites()) - eventsBefore;
  const reviews = (await lab.tokenReviews()) - reviewsBefore;
  const { cpuMs } = await processUsage(lab.coordinator.pid);
  patches.push(await lab.settledPatches());
  update('all services go');
  const goneMs = await turn(lab, false);
  patches.push(await lab.settledPatches());
  update('all services come back');
  const backMs = await turn(lab, true);
  patches.push(await lab.settledPatches());
  const counts = patches.slice(1).map((count, index) => count - (patches[index] ?? 0));
  return { ...floors, coldMs, reportedMs, cpuMs, events, reviews, goneMs, backMs, patches: counts };
}

async function measureFloors(lab: Lab): Promise<Floors> {
  const { api } = lab.cluster;
  const { names } = lab.fleet;
  let best: Floors = { applyMs: Number.POSITIVE_INFINITY, mergeMs: 0, concurrency: 0 };
  for (const concurrency of APPLY_CONCURRENCIES) {
    const applyMs = await measureFloor(api, names, { kind: 'apply', concurrency });
    if (applyMs < best.applyMs) best = { ...best, applyMs, concurrency };
  }
  return { ...best, mergeMs: await measureFloor(api, names, { kind: 'merge', concurrency: MERGE_CONCURRENCY }) };
}

/** What all agents see changes at once; returns the milliseconds until the last label has followed. */
async function turn(lab: Lab, ready: boolean): Promise<number> {
  const startMs = performance.now();
  await lab.fleet.report(lab.fleet.names, { ready });
  return (await lab.settled(ready ? 2 : 0)) - startMs;
}
