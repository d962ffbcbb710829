import type { NodesDocument } from '@rollcall/common/console.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiClient } from '../../control-plane/api-client.ts';
import { createNode, createPod, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

// One Deployment, and no agent on any node.

const PODS = { pods: { namespace: 'default', selector: { matchLabels: { app: 'driver' } } } };
const DEVICE_LABEL = 'device.rollcall.dev/edgetpu';

let embedded: EmbeddedRig;
let api: ApiClient;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    coordinatorArgs: ['--agents=false', '--gitpod=false'],
    nodes: 0,
  });
  api = embedded.controlPlane.api;
  await createNode(api, 'worker', {});
});

afterAll(() => embedded?.stop());

test('a service whose checks the coordinator makes is judged, and one that needs an agent is refused in its status', async () => {
  await api.post(NODE_SERVICES, nodeService('driver', { checks: [{ name: 'pod', ...PODS }] }));
  await createPod(api, {
    namespace: 'default',
    name: 'driver',
    nodeName: 'worker',
    labels: { app: 'driver' },
    ready: true,
  });
  await embedded.rig.history.until('worker', 'service.rollcall.dev/driver', 'true', 20_000);
  await setPodReady(api, 'default', 'driver', false);
  await embedded.rig.history.until('worker', 'service.rollcall.dev/driver', undefined, 20_000);
  await setPodReady(api, 'default', 'driver', true);

  const port = { name: 'port', tcp: { port: 1 } };
  const refused = {
    probed: [port],
    either: [{ name: 'any', anyOf: [{ name: 'pod', ...PODS }, port] }],
    hardware: [{ name: 'tpu', device: { name: 'edgetpu' } }],
  };
  for (const [name, checks] of Object.entries(refused)) await api.post(NODE_SERVICES, nodeService(name, { checks }));
  for (const name of Object.keys(refused)) {
    const condition = () => conditionOf(api, name, 'Ready');
    const said = await waitFor(`the refusal of ${name}`, async () => (await condition()) || undefined);
    expect(said).toMatch(/^False NoAgents: The check (port|tpu) needs an agent on each node, and there are none: set /);
  }
});

test('neither metrics, console nor plugin miss an agent, and no port takes reports', async () => {
  await embedded.rig.history.until('worker', 'service.rollcall.dev/driver', 'true', 20_000);
  const leader = await embedded.rig.leader();
  const { body } = await leader.get('/metrics');
  expect(body.match(/^rollcall_coordinator_nodes\{.*/gm)).toEqual(['rollcall_coordinator_nodes{state="none"} 1']);
  const nodes = await leader.console<NodesDocument>('/v1/nodes');
  expect(nodes?.nodes.map(({ agent }) => agent)).toEqual(['none']);
  expect((await leader.waitForLog('Started'))['reports']).toBeUndefined();
  await expect(httpGet(`http://127.0.0.1:${leader.ports.reports}/v1/reports`)).rejects.toThrow('ECONNREFUSED');
  for (const name of ['probed', 'either', 'hardware']) await api.delete(`${NODE_SERVICES}/${name}`);
  const status = await waitFor('the answer that all is well', async () => {
    const result = await runPlugin(['status', `--console-url=${leader.consoleUrl}`]);
    return result.exitCode === 0 ? result : undefined;
  });
  expect(status.stdout).toMatch(/agents +1 switched off/);
  expect(status.stdout).not.toMatch(/no agent|not reported/);
});

test('labels of hardware that agents set before go', async () => {
  await api.post('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'former',
      annotations: { 'rollcall.dev/keys': JSON.stringify({ [`label:${DEVICE_LABEL}`]: 'device' }) },
    },
  });
  const labelled = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'former', labels: { [DEVICE_LABEL]: 'true' } } };
  const path = '/api/v1/nodes/former?fieldManager=rollcall&force=true';
  await api.patch(path, labelled, 'application/apply-patch+yaml');
  await embedded.rig.history.until('former', DEVICE_LABEL, undefined, 20_000);
});
