import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { renderChart } from '../../chart/render.ts';
import { applyManifest } from '../../control-plane/cluster.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { ensureHelm } from '../../helm/helm.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { startStandIn } from '../../stand-ins/stand-in.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

const STALE_AFTER_SECONDS = 4;
// Its budget is another test's.
const TAINT = { key: 'readiness.k8s.io/mirror', value: '', effect: 'NoExecute', maxUnavailable: '100%' };
const LABEL = 'service.rollcall.dev/mirror';

// An agent is silent after some seconds, and coordinators are replaced.
vi.setConfig({ testTimeout: 180_000 });

let embedded: EmbeddedRig;

beforeAll(async () => {
  const values = { coordinator: { config: { allowNoExecute: true } } };
  const fence = await renderChart(await ensureHelm(), values, ['--show-only', 'templates/policies/fence.yaml']);
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: 'no fence',
    coordinatorArgs: [`--stale-after-seconds=${STALE_AFTER_SECONDS}`],
    nodes: 3,
  });
  // The fence of the chart refuses the taint if it is rendered wrong.
  await applyManifest(embedded.controlPlane, fence);
}, 600_000);

afterAll(() => embedded?.stop());

async function isTainted(node: string): Promise<boolean> {
  const { spec } = (await embedded.controlPlane.api.get(`/api/v1/nodes/${node}`)) as unknown as {
    spec: { taints?: { key: string; effect: string }[] };
  };
  return spec.taints?.some(({ key, effect }) => key === TAINT.key && effect === TAINT.effect) === true;
}

test('a taint that evicts is refused until it is allowed, goes on by evidence, and never by silence', async () => {
  const { controlPlane, rig } = embedded;
  const { api } = controlPlane;
  const port = await freePort();
  const mirrors = await Promise.all(
    rig.nodes.map(({ address }) => startStandIn('http-service', { host: address, port })),
  );
  const [first, second] = rig.nodes;
  if (!first || !second) throw new Error('There are no nodes');
  const checks = [{ name: 'port', http: { port, path: '/healthz' }, period: '200ms' }];
  await api.post(NODE_SERVICES, nodeService('mirror', { checks, publish: { label: LABEL, taint: TAINT } }));
  const isRefused = async () =>
    /^False NoExecuteNotAllowed: .* --allow-no-execute/.test(await conditionOf(api, 'mirror', 'Ready'));
  await waitFor('the refusal', isRefused, { timeoutMs: 30_000 });

  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  const coordinator = await rig.addCoordinator(['--allow-no-execute']);
  for (const { name } of rig.nodes) await rig.history.until(name, LABEL, 'true');

  await mirrors[0]?.kill('SIGKILL');
  await waitFor('the taint', () => isTainted(first.name), { timeoutMs: 30_000 });

  await second.agent?.kill('SIGKILL');
  await rig.history.until(second.name, LABEL, undefined);
  const { services } = await coordinator.explain(second.name);
  expect(services.find(({ name }) => name === 'mirror')).toMatchObject({
    state: 'not-ready',
    reason: 'the agent has been silent for too long',
  });
  const { keys } = await coordinator.explain(second.name);
  expect(keys.find(({ key }) => key === TAINT.key)).toMatchObject({
    stance: 'keep',
    reason: 'the agent has been silent for too long; pods are evicted only when the service is seen to fail',
  });
  expect(await isTainted(second.name)).toBe(false);
  await Promise.all(mirrors.map((mirror) => mirror.stop()));
});
