import { setTimeout as sleep } from 'node:timers/promises';
import { emptyProcess } from './empty-process.ts';
import { processUsage } from './process-usage.ts';
import type { Bench } from './result.ts';

const BYTES_A_NODE = 8000;
const MIB = 1024 * 1024;

/** Nothing happens in a labelled fleet but heartbeats. */
export const benchSteady: Bench = async (lab, { nodes, idleSeconds }) => {
  const empty = await emptyProcess();
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  const patchesBefore = await lab.settledPatches();
  const reviewsBefore = await lab.tokenReviews();
  const { pid } = lab.coordinator;
  const heartbeatsBefore = lab.fleet.taken.heartbeat;
  const before = await processUsage(pid);
  await lab.during(`idle for ${idleSeconds} s`, () => sleep(idleSeconds * 1000));
  const after = await processUsage(pid);
  const heartbeats = lab.fleet.taken.heartbeat - heartbeatsBefore;
  const budgetMiB = 2 * empty.rssMiB + (lab.fleet.names.length * BYTES_A_NODE) / MIB;
  return [
    { what: 'PATCHes', value: (await lab.nodePatches()) - patchesBefore, unit: '', exactly: 0 },
    { what: 'TokenReviews', value: (await lab.tokenReviews()) - reviewsBefore, unit: '', exactly: 0 },
    { what: 'heartbeats a second', value: heartbeats / idleSeconds, unit: '' },
    { what: 'CPU of the coordinator, of one core', value: (after.cpuMs - before.cpuMs) / idleSeconds / 10, unit: '%' },
    { what: 'resident memory of the coordinator', value: after.rssMiB, unit: 'MiB', atMost: budgetMiB },
    { what: 'private memory of the coordinator', value: after.privateMiB, unit: 'MiB' },
    { what: 'resident memory of an empty process', value: empty.rssMiB, unit: 'MiB' },
    { what: 'private memory of an empty process', value: empty.privateMiB, unit: 'MiB' },
  ];
};
