import { Crowd } from './crowd.ts';
import { processUsage } from './process-usage.ts';
import type { Bench } from './result.ts';

/**
 * Every agent has a TLS connection of its own, and the coordinator restarts: how long until all of them are heard again,
 * what that costs, and what so many connections take of its memory.
 */
export const benchHerd: Bench = async (lab, { nodes }) => {
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  lab.fleet.silence();
  const alone = await processUsage(lab.coordinator.pid);
  const crowd = await lab.during('giving each agent a connection', () => Crowd.of(lab.fleet));
  try {
    const together = await processUsage(lab.coordinator.pid);
    const patchesBefore = await lab.settledPatches();
    const reviewsBefore = await lab.tokenReviews();
    const withdrawnBefore = lab.ready.withdrawn.length;
    const restartMs = performance.now();
    const leadMs = await lab.during('restarting the coordinator', () => lab.lead());
    await crowd.mark();
    const before = await processUsage(lab.coordinator.pid);
    await lab.during('waiting for all agents', () => crowd.untilAllHeard());
    const heardMs = performance.now();
    const after = await processUsage(lab.coordinator.pid);
    const patches = (await lab.settledPatches()) - patchesBefore;
    const cpuMs = after.cpuMs - before.cpuMs;
    return [
      { what: 'restart → leadership', value: (leadMs - restartMs) / 1000, unit: 's' },
      { what: 'leadership → every agent was heard', value: (heardMs - leadMs) / 1000, unit: 's' },
      { what: 'CPU of the coordinator meanwhile', value: cpuMs / 1000, unit: 's' },
      { what: 'CPU of the coordinator for each agent', value: cpuMs / nodes, unit: 'ms' },
      { what: 'TokenReviews', value: (await lab.tokenReviews()) - reviewsBefore, unit: '', exactly: 0 },
      { what: 'PATCHes', value: patches, unit: '', exactly: 0 },
      { what: 'labels withdrawn', value: lab.ready.withdrawn.length - withdrawnBefore, unit: '', exactly: 0 },
      { what: 'resident memory of the coordinator before', value: alone.rssMiB, unit: 'MiB' },
      { what: 'the same, with a connection for each agent', value: together.rssMiB, unit: 'MiB' },
      { what: 'memory for a connection', value: ((together.rssMiB - alone.rssMiB) * 1024) / nodes, unit: 'KiB' },
    ];
  } finally {
    await crowd.stop();
  }
};
