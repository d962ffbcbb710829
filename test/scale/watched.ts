import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Helper } from './helper.ts';
import type { Lab } from './lab.ts';
import { processUsage } from './process-usage.ts';
import type { ReadersQuestion, ReadersResult } from './readers-process.ts';
import { type Bench, type BenchOptions, type Measure, median, quantile } from './result.ts';

const PROGRAM = path.join(import.meta.dirname, 'readers-process.ts');
const STREAMS = 10;
const STATUS_EVERY_MS = 1000;
/** Nodes whose services fall one after the other, and others on which they fall at once; at most half of the fleet each. */
const FALLS_MAX = 100;
/** Until what follows from a start of the coordinator is done with. */
const WARM_UP_MS = 5000;

type Turn = { idleCpu: number; fallsCpuMs: number; goneMs: number[]; togetherMs: number; readers?: ReadersResult };

/**
 * What those who watch cost the leader: the same fleet without and with readers of the stream and of `/v1/nodes`, in turns.
 * Each turn has a coordinator of its own, since one that was read makes events for some minutes more.
 */
export const benchWatched: Bench = async (lab, options) => {
  await lab.grow(options.nodes);
  const turns = { alone: [] as Turn[], watched: [] as Turn[] };
  for (let round = 0; round < options.rounds; round += 1) {
    const order = round % 2 === 0 ? (['alone', 'watched'] as const) : (['watched', 'alone'] as const);
    for (const kind of order) {
      const act = () => turnOf(lab, options, kind === 'watched');
      turns[kind].push(await lab.during(`round ${round + 1}, ${kind}`, act));
    }
  }
  const { alone, watched } = turns;
  const failed = watched.reduce((sum, { readers }) => sum + (readers?.failed ?? 0), 0);
  return [
    { what: 'documents that were not answered', value: failed, unit: '', exactly: 0 },
    { what: 'events a reader was told', value: eventsOf(watched) / STREAMS, unit: '' },
    { what: 'slowest /v1/nodes', value: Math.max(...watched.map((each) => each.readers?.slowestMs ?? 0)), unit: 'ms' },
    ...beside(turns, 'CPU of the idle coordinator, of one core', '%', (all) => median(all.map((each) => each.idleCpu))),
    ...beside(turns, 'CPU of the coordinator for a service that falls', 'ms', (all) =>
      median(all.map(({ fallsCpuMs, goneMs }) => fallsCpuMs / goneMs.length)),
    ),
    ...beside(turns, 'a service fell → its label is gone, p50', 'ms', (all) => quantile(goneOf(all), 0.5)),
    ...beside(turns, 'a service fell → its label is gone, p99', 'ms', (all) => quantile(goneOf(all), 0.99)),
    ...beside(turns, 'as many services fell at once → last label gone', 'ms', (all) =>
      median(all.map((each) => each.togetherMs)),
    ),
    { what: 'turns of each', value: alone.length, unit: '' },
  ];
};

function beside(
  { alone, watched }: Record<'alone' | 'watched', readonly Turn[]>,
  what: string,
  unit: Measure['unit'],
  of: (turns: readonly Turn[]) => number,
): Measure[] {
  return [
    { what, value: of(alone), unit },
    { what: `${what}, watched`, value: of(watched), unit },
  ];
}

const goneOf = (turns: readonly Turn[]) => turns.flatMap(({ goneMs }) => goneMs);
const eventsOf = (turns: readonly Turn[]) => median(turns.map(({ readers }) => readers?.events ?? 0));

async function turnOf(lab: Lab, { nodes, idleSeconds }: BenchOptions, isWatched: boolean): Promise<Turn> {
  await lab.lead();
  await lab.labelled(nodes);
  await lab.quiet();
  await sleep(WARM_UP_MS);
  const { pid, consoleUrl } = lab.coordinator;
  const cpuMs = async () => (await processUsage(pid)).cpuMs;
  const readers = isWatched ? new Helper<ReadersQuestion, ReadersResult>(PROGRAM) : undefined;
  try {
    await readers?.ask({ ask: 'begin', consoleUrl, streams: STREAMS, statusEveryMs: STATUS_EVERY_MS });
    const kind = isWatched ? 'watched' : 'alone';
    return await lab.profiled(kind, async () => {
      const beforeIdle = await cpuMs();
      await sleep(idleSeconds * 1000);
      const idleCpu = ((await cpuMs()) - beforeIdle) / idleSeconds / 10;
      const beforeFalls = await cpuMs();
      const { names } = lab.fleet;
      const falls = Math.min(FALLS_MAX, Math.floor(names.length / 2));
      const goneMs = await fallOneByOne(lab, names.slice(0, falls));
      const fallsCpuMs = (await cpuMs()) - beforeFalls;
      const togetherMs = await fallTogether(lab, names.slice(-falls));
      const told = await readers?.ask({ ask: 'end' });
      return { idleCpu, fallsCpuMs, goneMs, togetherMs, ...(told ? { readers: told } : {}) };
    });
  } finally {
    await readers?.stop();
  }
}

/** From the report that a service is down to the Node without its label, as a watch tells it. */
async function fallOneByOne(lab: Lab, names: readonly string[]): Promise<number[]> {
  const goneMs: number[] = [];
  for (const name of names) {
    const fellMs = performance.now();
    await lab.fleet.report([name], { ready: false });
    goneMs.push((await lab.settled(0, [name])) - fellMs);
  }
  return goneMs;
}

async function fallTogether(lab: Lab, names: readonly string[]): Promise<number> {
  const fellMs = performance.now();
  await lab.fleet.report(names, { ready: false });
  return (await lab.settled(0, names)) - fellMs;
}
