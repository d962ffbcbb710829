import { setTimeout as sleep } from 'node:timers/promises';
import type { Lab } from './lab.ts';
import { processUsage } from './process-usage.ts';
import { type Measure, quantile } from './result.ts';

/** A node may send ten a second. */
const REPORT_EVERY_MS = 200;

type Timed = { seconds: number; heartbeats: number; notTaken: number; reportMs: number[]; cpuMs: number };

/** Times the full reports of one node, one after the other, while `act` runs beside the heartbeats of all others. */
export async function timedReports(lab: Lab, act: () => Promise<void>): Promise<Timed> {
  const { fleet, coordinator } = lab;
  const [name = ''] = fleet.names;
  const before = { ...fleet.taken, refused: fleet.refused, ...(await processUsage(coordinator.pid)) };
  const startMs = performance.now();
  const reportMs: number[] = [];
  let acting = true;
  const timing = (async () => {
    while (acting) {
      const sentMs = performance.now();
      await fleet.report([name]);
      reportMs.push(performance.now() - sentMs);
      await sleep(REPORT_EVERY_MS);
    }
  })();
  try {
    await act();
  } finally {
    acting = false;
  }
  const seconds = (performance.now() - startMs) / 1000;
  await timing;
  const after = await processUsage(coordinator.pid);
  return {
    seconds,
    heartbeats: fleet.taken.heartbeat - before.heartbeat,
    notTaken: fleet.refused - before.refused,
    reportMs,
    cpuMs: after.cpuMs - before.cpuMs,
  };
}

/** `when`: what each line begins with. */
export function measuresOf(when: string, { seconds, heartbeats, notTaken, reportMs, cpuMs }: Timed): Measure[] {
  return [
    { what: `${when}: heartbeats a second`, value: heartbeats / seconds, unit: '' },
    { what: `${when}: reports that were not taken`, value: notTaken, unit: '', exactly: 0 },
    { what: `${when}: a report → its reply, p50`, value: quantile(reportMs, 0.5), unit: 'ms' },
    { what: `${when}: a report → its reply, p99`, value: quantile(reportMs, 0.99), unit: 'ms' },
    { what: `${when}: CPU of the coordinator, of one core`, value: cpuMs / seconds / 10, unit: '%' },
  ];
}
