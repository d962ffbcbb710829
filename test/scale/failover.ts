import { waitFor } from '../control-plane/wait-for.ts';
import { processUsage } from './process-usage.ts';
import { type Bench, median } from './result.ts';

const HEARD_WITHIN_MS = 300_000;

/** The leader is killed beside a standby, to which all agents have to introduce themselves; nothing is to be written. */
export const benchFailover: Bench = async (lab, { nodes, rounds }) => {
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  const { fleet, ready } = lab;
  const patchesBefore = await lab.settledPatches();
  const withdrawnBefore = ready.withdrawn.length;
  const leadSeconds: number[] = [];
  const heardSeconds: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    await lab.during(`killing the leader, ${round} of ${rounds}`, async () => {
      const { killedMs, leadMs } = await lab.failOver();
      const isHeard = (name: string) => (fleet.reportedMs.get(name) ?? 0) > killedMs;
      await waitFor('all agents', () => fleet.names.every(isHeard), { timeoutMs: HEARD_WITHIN_MS, everyMs: 20 });
      leadSeconds.push((leadMs - killedMs) / 1000);
      heardSeconds.push((performance.now() - leadMs) / 1000);
    });
  }
  const patches = (await lab.settledPatches()) - patchesBefore;
  const { rssMiB } = await processUsage(lab.coordinator.pid);
  return [
    { what: 'leader killed → standby leads, median', value: median(leadSeconds), unit: 's' },
    { what: 'leadership → every agent was heard, median', value: median(heardSeconds), unit: 's' },
    { what: 'the same, slowest', value: Math.max(...heardSeconds), unit: 's' },
    { what: 'PATCHes', value: patches, unit: '', exactly: 0 },
    { what: 'labels withdrawn', value: ready.withdrawn.length - withdrawnBefore, unit: '', exactly: 0 },
    { what: 'resident memory of the new leader', value: rssMiB, unit: 'MiB' },
  ];
};
