import { WS_DAEMON } from '@rollcall/common/well-known.ts';
import { eachOf } from './each-of.ts';
import type { Bench } from './result.ts';

const PODS = 100;
const CONCURRENCY = 16;

/** In a labelled fleet, the pods of 100 nodes become not ready at once. */
export const benchBurst: Bench = async (lab, { nodes }) => {
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  const names = lab.fleet.names.slice(0, PODS);
  const before = await lab.settledPatches();
  const { firstMs, lastMs } = await turnPods(names, (name) => lab.fleet.setPodReady(WS_DAEMON, name, false));
  const goneMs = await lab.settled(1, names);
  const patches = (await lab.settledPatches()) - before;
  await turnPods(names, (name) => lab.fleet.setPodReady(WS_DAEMON, name, true));
  await lab.settled(2, names);
  return [
    { what: 'telling the API server of it', value: lastMs - firstMs, unit: 'ms' },
    { what: 'last pod not ready → last label gone', value: goneMs - lastMs, unit: 'ms', atMost: 500 },
    { what: 'first pod not ready → last label gone', value: goneMs - firstMs, unit: 'ms' },
    { what: 'PATCHes a node', value: patches / names.length, unit: '', exactly: 1 },
  ];
};

async function turnPods(
  names: readonly string[],
  act: (name: string) => Promise<void>,
): Promise<{ firstMs: number; lastMs: number }> {
  const firstMs = performance.now();
  await eachOf(names, CONCURRENCY, act);
  return { firstMs, lastMs: performance.now() };
}
