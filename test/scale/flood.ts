import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { killChild } from '../control-plane/child.ts';
import { freePort } from '../control-plane/ports.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { FLOOD_KINDS, type FloodKind } from '../rig/flood.ts';
import { httpGet } from '../rig/http-get.ts';
import { spawnAgent, startCoordinator } from './agent.ts';
import { Crowd } from './crowd.ts';
import type { FloodQuestion, FloodSummary } from './flood-process.ts';
import { Helper } from './helper.ts';
import type { Lab } from './lab.ts';
import { processUsage } from './process-usage.ts';
import { type Bench, type Measure, quantile } from './result.ts';

const PROGRAM = path.join(import.meta.dirname, 'flood-process.ts');
/** Two thirds of what the chart gives each program. */
const MEMORY_MIB_MAX = (1024 * 2) / 3;
const AGENT_MEMORY_MIB_MAX = (160 * 2) / 3;
const HEALTH_MS_MAX = 500;
const SAMPLE_MS = 100;
const PAUSE_MS = 250;
/** The nodes on which services fall, one after the other; every other must keep its labels. */
const FALLING_SHARE = 0.5;

/** Each kind of attack for a while, and then all at once, while every agent of a fleet reports and services die. */
export const benchFlood: Bench = async (lab, { nodes, idleSeconds }) => {
  const extender = `127.0.0.1:${await freePort()}`;
  await lab.lead([`--scheduler-listen=${extender}`, '--scheduler-tls=on']);
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
  const agent = await startAttackedAgent();
  try {
    const measures: Measure[] = [];
    await waitFor('the agent', async () => (await httpGet(`${agent.healthUrl}/healthz`)).status === 200);
    for (const kinds of [...FLOOD_KINDS.map((kind) => [kind]), [...FLOOD_KINDS]]) {
      measures.push(
        ...(await floodOf(kinds, {
          lab,
          crowd,
          agent,
          names,
          falling: new Set(falling),
          nextToFall,
          victim,
          extenderUrl: `https://${extender}`,
          idleSeconds,
        })),
      );
    }
    return measures;
  } finally {
    await agent.stop();
    await crowd.stop();
  }
};

type AttackedAgent = { pid: number; healthUrl: string; running: () => boolean; stop: () => Promise<void> };

/** An agent as the chart starts it, whose coordinator is a stand-in. */
async function startAttackedAgent(): Promise<AttackedAgent> {
  const directory = await mkdtemp(path.join(tmpdir(), 'rollcall-bench-'));
  const tokenFile = path.join(directory, 'token');
  await writeFile(tokenFile, 'token');
  const coordinator = await startCoordinator([]);
  const port = await freePort();
  const child = spawnAgent(coordinator.origin, directory, [`--token-file=${tokenFile}`, `--listen=127.0.0.1:${port}`]);
  return {
    pid: child.pid ?? 0,
    healthUrl: `http://127.0.0.1:${port}`,
    running: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      await killChild(child);
      coordinator.close();
      await rm(directory, { recursive: true });
    },
  };
}

/** Samples the resident memory of processes until it is stopped; returns the largest of each in MiB. */
function watchMemory(pids: readonly number[]): () => Promise<number[]> {
  const peaks = pids.map(() => 0);
  let over = false;
  const watch = async () => {
    while (!over) {
      for (const [index, pid] of pids.entries()) {
        // Gone, or not to be read at this moment.
        const usage = await processUsage(pid).catch(() => undefined);
        peaks[index] = Math.max(peaks[index] ?? 0, usage?.rssMiB ?? 0);
      }
      await sleep(SAMPLE_MS);
    }
  };
  const watching = watch();
  return async () => {
    over = true;
    await watching;
    return peaks;
  };
}

type Scene = {
  agent: AttackedAgent;
  lab: Lab;
  crowd: Crowd;
  names: readonly string[];
  falling: ReadonlySet<string>;
  nextToFall: () => string;
  victim: string;
  extenderUrl: string;
  idleSeconds: number;
};

async function floodOf(kinds: readonly FloodKind[], scene: Scene): Promise<Measure[]> {
  const { lab, crowd, agent, names, falling, nextToFall, victim, extenderUrl, idleSeconds } = scene;
  const name = kinds.length > 1 ? 'all at once' : kinds.join();
  const { pid, reportsUrl, healthUrl, consoleUrl } = lab.coordinator;
  const reviewsBefore = await lab.tokenReviews();
  const refusedBefore = (await crowd.mark()).refused;
  const withdrawnBefore = lab.ready.withdrawn.length;
  const before = await processUsage(pid);
  const peaks = watchMemory([pid, agent.pid]);
  const startMs = performance.now();
  const flood = new Helper<FloodQuestion, FloodSummary | undefined>(PROGRAM);
  const stolen = { node: victim, token: lab.fleet.tokenOf(victim) };
  const urls = { reportsUrl, healthUrl, consoleUrl, extenderUrl, agentHealthUrl: agent.healthUrl };
  // Who attacks is too busy to tell when an answer came.
  const asker = new Helper<FloodQuestion, FloodSummary | undefined>(PROGRAM);
  await asker.ask({ ask: 'begin', options: { ...urls, stolen, kinds: [] } });
  await flood.ask({ ask: 'begin', options: { ...urls, stolen, kinds } });
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
  const [peakMiB = 0, agentPeakMiB = 0] = await peaks();
  const [result, health] = await Promise.all([flood.ask({ ask: 'end' }), asker.ask({ ask: 'end' })]);
  await Promise.all([flood.stop(), asker.stop()]);
  if (!result || !health) throw new Error('The flood had not begun');
  const counts = await crowd.counts();
  const withdrawn = lab.ready.withdrawn.slice(withdrawnBefore).filter((node) => !falling.has(node));
  const cpu = (after.cpuMs - before.cpuMs) / seconds / 10;
  const measures: Measure[] = [
    { what: 'labels withdrawn of others', value: withdrawn.length, unit: '', exactly: 0 },
    { what: 'honest reports that were not taken', value: counts.refused - refusedBefore, unit: '', exactly: 0 },
    { what: 'agents that were not heard', value: names.length - counts.heard, unit: '', exactly: 0 },
    { what: 'TokenReviews', value: (await lab.tokenReviews()) - reviewsBefore, unit: '', exactly: 0 },
    { what: 'answers of /healthz that were none or bad', value: health.unhealthy, unit: '', exactly: 0 },
    { what: 'a service fell → its label is gone, p50', value: quantile(goneMs, 0.5), unit: 'ms' },
    { what: 'a service fell → its label is gone, p99', value: quantile(goneMs, 0.99), unit: 'ms', atMost: 1000 },
    { what: 'slowest answer of /healthz', value: health.healthMs, unit: 'ms', atMost: HEALTH_MS_MAX },
    { what: 'resident memory of the coordinator, peak', value: peakMiB, unit: 'MiB', atMost: MEMORY_MIB_MAX },
    { what: 'resident memory of an agent, peak', value: agentPeakMiB, unit: 'MiB', atMost: AGENT_MEMORY_MIB_MAX },
    { what: 'agents that ended', value: agent.running() ? 0 : 1, unit: '', exactly: 0 },
    { what: 'CPU of the coordinator, of one core', value: cpu, unit: '%' },
    { what: 'made-up tokens a second', value: result.madeUp / seconds, unit: '' },
    { what: 'large reports a second', value: result.stolen / seconds, unit: '' },
    { what: 'connections a second', value: result.connections / seconds, unit: '' },
  ];
  return measures.map((measure) => ({ ...measure, what: `${name}: ${measure.what}` }));
}
