import { Registry } from '@rollcall/common/metrics.ts';
import { expect, it } from 'vitest';
import { createKubeMetrics } from './kube-metrics.ts';

it('counts under the names that dashboards know', async () => {
  const registry = new Registry();
  const metrics = createKubeMetrics(registry);
  metrics.answered('list', '200');
  metrics.watchEvent('nodes');
  metrics.watchRestarted('nodes', 'cut');
  metrics.leading(true);
  metrics.leaderChanged();
  const samples = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(samples).toEqual([
    'rollcall_coordinator_kube_requests_total{verb="list",code="200"} 1',
    'rollcall_coordinator_watch_events_total{resource="nodes"} 1',
    'rollcall_coordinator_watch_restarts_total{resource="nodes",reason="cut"} 1',
    'rollcall_coordinator_leader 1',
    'rollcall_coordinator_leader_transitions_total 1',
  ]);
});
