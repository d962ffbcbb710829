import { setTimeout as sleep } from 'node:timers/promises';
import { httpGet } from '../rig/http-get.ts';
import type { Lab } from './lab.ts';
import { type ProcessUsage, processUsage } from './process-usage.ts';
import { type Bench, median, quantile } from './result.ts';
import { measuresOf, timedReports } from './timed-reports.ts';

const READY_WITHIN_MS = 120_000;

type Start = ProcessUsage & { seconds: number };

/** A standby starts, and then all nodes are listed again and again, each beside the reports that the leader takes. */
export const benchReplica: Bench = async (lab, { nodes, rounds, idleSeconds }) => {
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  await lab.quiet();
  const alone = await lab.during('reports alone', () => timedReports(lab, () => sleep(idleSeconds * 1000)));
  const starts: Start[] = [];
  const beside = await timedReports(lab, async () => {
    for (let round = 1; round <= rounds; round += 1) {
      starts.push(await lab.during(`starting a standby, ${round} of ${rounds}`, () => startOf(lab)));
    }
  });
  const listMs: number[] = [];
  const listed = await lab.during('listing all nodes', () =>
    timedReports(lab, () => listFor(lab, idleSeconds * 1000, listMs)),
  );
  const seconds = starts.map((start) => start.seconds);
  return [
    { what: 'start of a standby → ready, median', value: median(seconds), unit: 's' },
    { what: 'the same, fastest', value: Math.min(...seconds), unit: 's' },
    { what: 'the same, slowest', value: Math.max(...seconds), unit: 's' },
    {
      what: 'CPU of the standby until then, median',
      value: median(starts.map(({ cpuMs }) => cpuMs / 1000)),
      unit: 's',
    },
    {
      what: 'resident memory of the standby then, median',
      value: median(starts.map(({ rssMiB }) => rssMiB)),
      unit: 'MiB',
    },
    ...measuresOf('leader alone', alone),
    ...measuresOf('leader beside the starts', beside),
    { what: 'lists of all nodes a second, one after the other', value: listMs.length / listed.seconds, unit: '' },
    { what: 'a list of all nodes, p50', value: quantile(listMs, 0.5), unit: 'ms' },
    { what: 'a list of all nodes, p99', value: quantile(listMs, 0.99), unit: 'ms' },
    ...measuresOf('leader beside the lists', listed),
  ];
};

/** From the start of the process until it could take over. */
async function startOf(lab: Lab): Promise<Start> {
  const startMs = performance.now();
  const standby = await lab.standby();
  try {
    await standby.ready({ timeoutMs: READY_WITHIN_MS, everyMs: 20 });
    return { seconds: (performance.now() - startMs) / 1000, ...(await processUsage(standby.pid)) };
  } finally {
    await standby.kill('SIGTERM');
  }
}

/** What `kubectl rollcall status` asks for. */
async function listFor({ coordinator, fleet }: Lab, forMs: number, listMs: number[]): Promise<void> {
  const untilMs = performance.now() + forMs;
  do {
    const askedMs = performance.now();
    const { status, body } = await httpGet(`${coordinator.consoleUrl}v1/nodes`);
    listMs.push(performance.now() - askedMs);
    const listed = body.split('"name":"fleet-').length - 1;
    if (status !== 200 || listed < fleet.names.length) throw new Error(`${status}: ${listed} nodes are listed`);
  } while (performance.now() < untilMs);
}
