import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { applyDeployed, type PoolCluster, refusalOf, register, startPoolCluster } from './pool-cluster.ts';

// The parameters of a policy are objects of a CRD, which may be missing: it comes with another manifest.

let cluster: PoolCluster;

beforeAll(async () => {
  cluster = await startPoolCluster();
  await register(cluster.api, 'n', {});
  await applyDeployed(cluster, 'policies');
  const foreign = { metadata: { labels: { foreign: '1' } } };
  await waitFor('the fence', () => refusalOf(cluster.coordinator, 'n', foreign));
});
afterAll(() => cluster?.stop());

test('without the CRD of pools every client can change nodes, and the coordinator what is its own', async () => {
  // The effect of missing parameters shows only when the policy has looked for them.
  const until = Date.now() + 3000;
  while (Date.now() < until) {
    const spec = { spec: { unschedulable: true } };
    expect(await refusalOf(cluster.api, 'n', spec)).toBeUndefined();
    const ready = { metadata: { labels: { 'gitpod.io/ws-daemon_ready_ns_default': 'true' } } };
    expect(await refusalOf(cluster.coordinator, 'n', ready)).toBeUndefined();
  }
});
