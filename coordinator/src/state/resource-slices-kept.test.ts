import { expect, test } from 'vitest';
import { draDevices, observeResourceSlice } from './resource-slices.ts';

/** A pool whose devices each take two of three counters, so that no bound ends the search. */
function poolOf(pool: string) {
  const counters = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`c${at}`, { value: '3' }]));
  const devices = Array.from({ length: 90 }, (_, at) => ({
    name: `d${at}`,
    consumesCounters: [
      { counterSet: 's', counters: { [`c${at % 30}`]: { value: '1' }, [`c${(at * 7 + 1) % 30}`]: { value: '2' } } },
    ],
  }));
  return observeResourceSlice({
    metadata: { name: pool, uid: pool, resourceVersion: '1' },
    spec: {
      driver: 'd',
      nodeName: 'n',
      pool: { name: pool, generation: 1, resourceSliceCount: 1 },
      devices,
      sharedCounters: [{ name: 's', counters }],
    },
  } as never);
}

test('what the slices of a node offer is worked out once', () => {
  const slices = Array.from({ length: 8 }, (_, at) => poolOf(`p${at}`));
  const node = { name: 'n', uid: 'n', createdAtMs: 0, labels: {} };
  const cpuMs = () => {
    const before = process.threadCpuUsage();
    draDevices(slices, node as never);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  const first = cpuMs();
  expect(Math.max(cpuMs(), cpuMs(), cpuMs())).toBeLessThan(first / 2);
});
