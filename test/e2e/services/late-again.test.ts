import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const LATE = 'rollcall_coordinator_startup_deadlines_exceeded_total';

let embedded: EmbeddedRig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`],
    nodes: 0,
  });
});
afterAll(() => embedded?.stop());

test('that a service was never ready in time is told once, whoever leads', async () => {
  const { api } = embedded.controlPlane;
  const { rig } = embedded;
  const pods = { namespace: 'default', selector: { matchLabels: { app: 'csi' } } };
  const publish = { condition: 'example.com/CsiReady' };
  await api.post(
    NODE_SERVICES,
    nodeService('csi', { startupDeadline: '3s', checks: [{ name: 'pod', pods }], publish }),
  );
  await createNode(api, 'late');
  const reasonOn = async () => {
    const { status } = await api.get<NodeObject>('/api/v1/nodes/late');
    return (status?.conditions as { type: string; reason: string }[] | undefined)?.find(
      ({ type }) => type === publish.condition,
    )?.reason;
  };
  await waitFor('the condition', async () => (await reasonOn()) === 'StartupDeadlineExceeded', { timeoutMs: 30_000 });
  const told = async () =>
    (await api.list<{ metadata: { name: string }; reason?: string; count?: number }>('/api/v1/events'))
      .filter(({ reason }) => reason === 'StartupDeadlineExceeded')
      .map(({ count }) => count);
  await waitFor('the Event', async () => (await told()).length > 0, { timeoutMs: 30_000 });
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  const next = await rig.addCoordinator();
  expect(await rig.leader()).toBe(next);
  await new Promise((resolve) => setTimeout(resolve, 8000));
  expect([await told(), await next.metric(LATE, { service: 'csi' }), await reasonOn()]).toEqual([
    [1],
    0,
    'StartupDeadlineExceeded',
  ]);
});
