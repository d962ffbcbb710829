import { namesBeyond } from './lab.ts';
import { type Bench, quantile } from './result.ts';

/**
 * A coordinator leads, and nodes arrive as fast as the API server creates them, with pods, tokens and reports. What
 * counts is how long after its agent's report a node has its labels, while all that goes on.
 */
export const benchJoin: Bench = async (lab, { nodes }) => {
  const { fleet, ready } = lab;
  const existing = fleet.names.length;
  const names = namesBeyond(existing, existing + nodes);
  await lab.lead();
  const patchesBefore = await lab.settledPatches();
  const startMs = performance.now();
  await lab.during(`${nodes} nodes join`, (update) => fleet.join(names, (_, done) => update(`${done}`)));
  const lastMs = await lab.settled(2, names);
  const lastReportMs = Math.max(...names.map((name) => fleet.reportedMs.get(name) ?? 0));
  const lagsMs = names.map((name) => ready.sinceMs(name) - (fleet.reportedMs.get(name) ?? Number.NaN));
  const patches = (await lab.settledPatches()) - patchesBefore;
  return [
    { what: 'first node created → last label', value: (lastMs - startMs) / 1000, unit: 's' },
    { what: 'report sent → both labels, p50', value: quantile(lagsMs, 0.5), unit: 'ms' },
    { what: 'report sent → both labels, p99', value: quantile(lagsMs, 0.99), unit: 'ms' },
    { what: 'last report sent → last label', value: lastMs - lastReportMs, unit: 'ms' },
    { what: 'nodes that were labelled', value: lagsMs.filter(Number.isFinite).length / nodes, unit: '', exactly: 1 },
    // One for devices, which the first report names, and one for services, which an agent probes after the first reply.
    { what: 'PATCHes a node', value: patches / nodes, unit: '', atMost: 2 },
  ];
};
