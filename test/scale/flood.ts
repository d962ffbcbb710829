import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FLOOD_KINDS, type FloodKind } from '../rig/flood.ts';
import { Crowd } from './crowd.ts';
import type { FloodQuestion, FloodSummary } from './flood-process.ts';
import { Helper } from './helper.ts';
import type { Lab } from './lab.ts';
import { processUsage } from './process-usage.ts';
import { type Bench, type Measure, quantile } from './result.ts';

const PROGRAM = path.join(import.meta.dirname, 'flood-process.ts');
/** What the chart gives the coordinator. */
const MEMORY_MIB_MAX = 1024;
const PAUSE_MS = 250;
/** The nodes on which services fall, one after the other; every other must keep its labels. */
const FALLING_SHARE = 0.5;

/** Each kind of attack for a while, and then all at once, while every agent of a fleet reports and services die. */
export const benchFlood: Bench = async (lab, { nodes, idleSeconds }) => {
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  const crowd = await lab.during('giving each agent a connection', () => Crowd.of(lab.fleet));
  // Apart from the others, and with no agent of its own that reports.
  const victim = 'flood-victim';
  const names = [...lab.fleet.names];
  const falling = names.slice(0, Math.ceil(names.length * FALLING_SHARE));
  let fallen = 0;
  // So that none falls so often in a few minutes that it is held back.
  const nextToFall = () => falling[fallen++ % falling.length] ?? '';
  await lab.fleet.create([victim]);
  try {
    const measures: Measure[] = [];
    for (const kinds of [...FLOOD_KINDS.map((kind) => [kind]), [...FLOOD_KINDS]]) {
      measures.push(
        ...(await floodOf(kinds, { lab, crowd, names, falling: new Set(falling), nextToFall, victim, idleSeconds })),
      );
    }
    return measures;
  } finally {
    await crowd.stop();
  }
};

type Scene = {
  lab: Lab;
  crowd: Crowd;
  names: readonly string[];
  falling: ReadonlySet<string>;
  nextToFall: () => string;
  victim: string;
  idleSeconds: number;
};

async function floodOf(kinds: readonly FloodKind[], scene: Scene): Promise<Measure[]> {
  const { lab, crowd, names, falling, nextToFall, victim, idleSeconds } = scene;
  const name = kinds.length > 1 ? 'all at once' : kinds.join();
  const { pid, reportsUrl, healthUrl } = lab.coordinator;
  const reviewsBefore = await lab.tokenReviews();
  const refusedBefore = (await crowd.mark()).refused;
  const withdrawnBefore = lab.ready.withdrawn.length;
  const before = await processUsage(pid);
  const startMs = performance.now();
  const flood = new Helper<FloodQuestion, FloodSummary | undefined>(PROGRAM);
  const stolen = { node: victim, token: lab.fleet.tokenOf(victim) };
  await flood.ask({ ask: 'begin', options: { reportsUrl, healthUrl, stolen, kinds } });
  const goneMs: number[] = [];
  await lab.during(`${name} for ${idleSeconds} s`, async (update) => {
    while (performance.now() - startMs < idleSeconds * 1000) {
      const node = nextToFall();
      const fellMs = performance.now();
      await crowd.report([node], false);
      goneMs.push((await lab.settled(0, [node])) - fellMs);
      await crowd.report([node], true);
      await sleep(PAUSE_MS);
      update(`${goneMs.length} services fell`);
    }
  });
  const seconds = (performance.now() - startMs) / 1000;
  const after = await processUsage(pid);
  const result = await flood.ask({ ask: 'end' });
  await flood.stop();
  if (!result) throw new Error('The flood had not begun');
  const counts = await crowd.counts();
  const withdrawn = lab.ready.withdrawn.slice(withdrawnBefore).filter((node) => !falling.has(node));
  const cpu = (after.cpuMs - before.cpuMs) / seconds / 10;
  const measures: Measure[] = [
    { what: 'labels withdrawn of others', value: withdrawn.length, unit: '', exactly: 0 },
    { what: 'honest reports that were not taken', value: counts.refused - refusedBefore, unit: '', exactly: 0 },
    { what: 'agents that were not heard', value: names.length - counts.heard, unit: '', exactly: 0 },
    { what: 'TokenReviews', value: (await lab.tokenReviews()) - reviewsBefore, unit: '', exactly: 0 },
    { what: 'answers of /healthz that were none or bad', value: result.unhealthy, unit: '', exactly: 0 },
    { what: 'a service fell → its label is gone, p50', value: quantile(goneMs, 0.5), unit: 'ms' },
    { what: 'a service fell → its label is gone, p99', value: quantile(goneMs, 0.99), unit: 'ms', atMost: 1000 },
    { what: 'slowest answer of /healthz', value: result.healthMs, unit: 'ms', atMost: 1000 },
    { what: 'resident memory of the coordinator', value: after.rssMiB, unit: 'MiB', atMost: MEMORY_MIB_MAX },
    { what: 'CPU of the coordinator, of one core', value: cpu, unit: '%' },
    { what: 'made-up tokens a second', value: result.madeUp / seconds, unit: '' },
    { what: 'large reports a second', value: result.stolen / seconds, unit: '' },
    { what: 'connections a second', value: result.connections / seconds, unit: '' },
  ];
  return measures.map((measure) => ({ ...measure, what: `${name}: ${measure.what}` }));
}
