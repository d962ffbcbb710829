import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { ask } from './ask.ts';
import { SchedulerStage } from './scheduler-stage.ts';

// A real kube-scheduler that has to be answered, and a coordinator that never leads: another holds the Lease, and is gone.

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/rollcall/leases/rollcall-coordinator';

let stage: SchedulerStage;
beforeAll(async () => {
  stage = await SchedulerStage.start({ nodes: 1, ignorable: false });
  await stage.rig.endCoordinator(await stage.rig.leader(), 'SIGTERM');
  const { metadata } = await stage.api.get<KubeObject>(LEASE);
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  const spec = { holderIdentity: 'gone', leaseDurationSeconds: 3600, acquireTime: renewTime, renewTime };
  await stage.api.patch(LEASE, { metadata: { resourceVersion: metadata.resourceVersion }, spec });
  await stage.rig.addCoordinator();
  await waitFor(
    'the coordinator to listen',
    async () => (await ask(stage.port, 'filter', { Pod: {} })).status === 200,
    {
      timeoutMs: 30_000,
    },
  );
});
afterAll(() => stage?.stop());

test('pods that are not its own are placed without a leader, and its own wait', async () => {
  await stage.workspace('waits');
  expect(await stage.untilRefused('waits')).toContain('code 503');
  await stage.pod('plain', {}, { schedulerName: 'gitpod-scheduler' });
  expect(await stage.nodeOf('plain')).toBe(stage.rig.node(0).name);
  await stage.pod('default', {});
  expect(await stage.nodeOf('default')).toBe(stage.rig.node(0).name);
  expect(await Promise.all([...stage.rig.coordinators].map((each) => each.leads()))).toEqual([false]);
});
