import { setTimeout as sleep } from 'node:timers/promises';
import { Flood } from '../rig/flood.ts';
import { processUsage } from './process-usage.ts';
import { type Bench, quantile } from './result.ts';

/** What the chart gives the coordinator. */
const MEMORY_MIB_MAX = 1024;
const PAUSE_MS = 250;

/** Every kind of attack at once, while a fleet reports and services die. */
export const benchFlood: Bench = async (lab, { nodes, idleSeconds }) => {
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  const others = [...lab.fleet.names];
  // Apart from the others, whose connections are shared.
  const victim = 'flood-victim';
  await lab.fleet.create([victim]);
  const { coordinator } = lab;
  const retriesBefore = lab.fleet.refused;
  const reviewsBefore = await lab.tokenReviews();
  const before = await processUsage(coordinator.pid);
  const startMs = performance.now();
  const flood = new Flood({ coordinator, stolen: { node: victim, token: lab.fleet.tokenOf(victim) } });
  const goneMs: number[] = [];
  await lab.during(`a flood of ${idleSeconds} s`, async (update) => {
    for (let index = 0; performance.now() - startMs < idleSeconds * 1000; index += 1) {
      const node = others[index % others.length] ?? '';
      const fellMs = performance.now();
      await lab.fleet.report([node], { ready: false });
      goneMs.push((await lab.settled(0, [node])) - fellMs);
      await lab.fleet.report([node], { ready: true });
      await sleep(PAUSE_MS);
      update(`${goneMs.length} services fell`);
    }
  });
  const seconds = (performance.now() - startMs) / 1000;
  const after = await processUsage(coordinator.pid);
  const result = await flood.stop();
  const count = (answers: ReadonlyMap<number, number>) => [...answers.values()].reduce((sum, each) => sum + each, 0);
  return [
    { what: 'TokenReviews', value: (await lab.tokenReviews()) - reviewsBefore, unit: '', exactly: 0 },
    { what: 'reports of others that were not taken', value: lab.fleet.refused - retriesBefore, unit: '', exactly: 0 },
    { what: 'answers of /healthz that were none or bad', value: result.unhealthy, unit: '', exactly: 0 },
    { what: 'a service fell → its label is gone, p99', value: quantile(goneMs, 0.99), unit: 'ms', atMost: 1000 },
    { what: 'slowest answer of /healthz', value: result.healthMs, unit: 'ms', atMost: 1000 },
    { what: 'resident memory of the coordinator', value: after.rssMiB, unit: 'MiB', atMost: MEMORY_MIB_MAX },
    { what: 'CPU of the coordinator, of one core', value: (after.cpuMs - before.cpuMs) / seconds / 10, unit: '%' },
    { what: 'made-up tokens a second', value: count(result.madeUp) / seconds, unit: '' },
    { what: 'large reports a second', value: count(result.stolen) / seconds, unit: '' },
    { what: 'connections a second', value: result.connections / seconds, unit: '' },
  ];
};
