import { expect, test } from 'vitest';
import { allWatches, NODE_SERVICES, NODES } from '../watch/watches.test-fixtures.ts';
import { createHealth } from './listeners.ts';

test('a replica is ready when all is listed that may be, and stays so while the API server is away', async () => {
  const { api, watches, settle } = allWatches();
  const { clock } = api.shared;
  const writer = { busyMs: () => 0 };
  const { readiness } = createHealth({ writer, watches, clock });
  const names = 'nodes,agent pods,workspace pods,NodePoolLabels,NodePoolLabelSets,NodeServices,Workspaces,NodeHolds';
  expect(readiness.evaluate()).toEqual({ healthy: false, report: `[-]caches failed: not listed yet: ${names}` });
  api.refused.set(NODE_SERVICES, 403);
  void watches.run();
  await settle();
  expect(readiness.evaluate()).toEqual({ healthy: true, report: '[+]caches ok' });
  api.refused.set(NODE_SERVICES, 500).set(NODES, 500);
  await api.clock.advance(60_000);
  expect(readiness.evaluate()?.healthy).toBe(true);
  api.stop.abort();
});
