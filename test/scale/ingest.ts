import { setTimeout as sleep } from 'node:timers/promises';
import { REPORTS_PATH } from '@rollcall/common/well-known.ts';
import { startBareServer } from './bare-server.ts';
import { KeptConnection, postBytes } from './kept-connection.ts';
import type { Lab } from './lab.ts';
import { processUsage } from './process-usage.ts';
import { type Bench, median } from './result.ts';

const CONNECTIONS_MAX = 64;
/** A turn is as long on a busy machine: what a server does beside it would be counted with it. */
const REPORTS_PER_TURN = 4000;
/** A coordinator takes 20 at once of a node, and ten a second. */
const REPORTS_PER_NODE_AND_TURN = 9;
const REFILL_MS = 1000;

type Server = { pid: number; port: number; ca: string };
type Turn = { reports: number; refused: number; cpuMs: number };

/** What a report costs the coordinator, beside what it costs a server that only reads, parses and answers. */
export const benchIngest: Bench = async (lab, { nodes, rounds }) => {
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  await lab.quiet();
  lab.fleet.silence();
  const bare = await startBareServer({ tls: true, replyBytes: lab.fleet.replyBytesMax });
  const coordinator = { pid: lab.coordinator.pid, port: lab.coordinator.ports.reports, ca: lab.ca };
  const turns = { bare: [] as Turn[], heartbeat: [] as Turn[], full: [] as Turn[] };
  const act = async (name: string) => {
    turns.bare.push(await speak(lab, bare, false));
    turns.heartbeat.push(await lab.profiled(`heartbeats-${name}`, () => speak(lab, coordinator, false)));
    turns.full.push(await lab.profiled(`reports-${name}`, () => speak(lab, coordinator, true)));
  };
  try {
    await lab.during('reports', async (update) => {
      for (let round = 0; round <= rounds; round += 1) {
        update(`${round} of ${rounds}`);
        await act(`${round}`);
      }
    });
  } finally {
    await bare.stop();
  }
  const all = [...turns.heartbeat, ...turns.full];
  const [bareMs, heartbeatMs, fullMs] = [costOf(turns.bare), costOf(turns.heartbeat), costOf(turns.full)];
  return [
    { what: 'reports that were refused', value: sum(all.map(({ refused }) => refused)), unit: '', exactly: 0 },
    { what: 'CPU of a bare server for a heartbeat', value: bareMs, unit: 'ms' },
    { what: 'CPU of the coordinator for a heartbeat', value: heartbeatMs, unit: 'ms', atMost: 0.1 },
    { what: 'the same, over the bare server', value: heartbeatMs / bareMs, unit: '×' },
    { what: 'heartbeats a second on one core', value: 1000 / heartbeatMs, unit: '' },
    { what: 'CPU of the coordinator for a full report', value: fullMs, unit: 'ms', atMost: 0.5 },
    { what: 'full reports a second on one core', value: 1000 / fullMs, unit: '' },
  ];
};

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

/** Milliseconds of CPU a report: the median of the turns but for the first, in which code is still being compiled. */
function costOf(turns: readonly Turn[]): number {
  return median(turns.slice(1).map(({ reports, cpuMs }) => cpuMs / reports));
}

/** All nodes speak in turns, as fast as they are answered. */
async function speak({ fleet }: Lab, { pid, port, ca }: Server, full: boolean): Promise<Turn> {
  await sleep(REFILL_MS);
  const { names } = fleet;
  const count = Math.min(CONNECTIONS_MAX, names.length);
  const connections = await Promise.all(Array.from({ length: count }, () => KeptConnection.open(port, ca)));
  const most = Math.min(REPORTS_PER_TURN, names.length * REPORTS_PER_NODE_AND_TURN);
  let begun = 0;
  let refused = 0;
  const before = await processUsage(pid);
  await Promise.all(
    connections.map(async (connection) => {
      while (begun < most) {
        // Takes nodes in turn, even if some connections are answered faster than others.
        const name = names[begun % names.length] ?? '';
        begun += 1;
        const headers = { authorization: `Bearer ${fleet.tokenOf(name)}` };
        const { status } = await connection.send(postBytes(REPORTS_PATH, fleet.messageOf(name, full), headers));
        if (status !== 200) refused += 1;
      }
    }),
  );
  const after = await processUsage(pid);
  for (const connection of connections) connection.close();
  return { reports: begun, refused, cpuMs: after.cpuMs - before.cpuMs };
}
