import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createNamespace, createPod } from '../../control-plane/cluster.ts';
import { freePort } from '../../control-plane/ports.ts';
import { ownNamespace } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { startStandIn } from '../../stand-ins/stand-in.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const LABEL = 'service.rollcall.dev/driver';

// A right that is given is noticed within 30 s.
vi.setConfig({ testTimeout: 180_000 });

let embedded: EmbeddedRig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ prepare: applyNodeServiceCrd, nodes: 1 });
  await embedded.rig.allReady();
});

afterAll(() => embedded?.stop());

/** What the chart renders for one of `watchNamespaces`. */
async function permit(namespace: string): Promise<void> {
  const { api } = embedded.controlPlane;
  const metadata = { name: 'rollcall-coordinator-pods', namespace };
  const path = `${RBAC}/namespaces/${namespace}`;
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] }];
  await api.post(`${path}/roles`, { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules });
  await api.post(`${path}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
    subjects: [{ kind: 'ServiceAccount', name: 'rollcall-coordinator', namespace: ownNamespace }],
  });
}

async function takeTheRightInTheWholeCluster(): Promise<void> {
  const path = `${RBAC}/clusterroles/rollcall-coordinator`;
  type Rule = { resources: string[] };
  const role = (await embedded.controlPlane.api.get(path)) as unknown as { rules: Rule[] };
  const rules = role.rules.filter(({ resources }) => resources[0] !== 'pods');
  await embedded.controlPlane.api.patch(path, { rules });
}

test('a NodeService whose pods may not be watched reports this and the cure, keeps its label, and goes on within 30 s of the cure', async () => {
  const { controlPlane, rig } = embedded;
  const { api } = controlPlane;
  const node = rig.node(0);
  const port = await freePort();
  const driver = await startStandIn('http-service', { host: node.address, port });
  await createNamespace(api, 'drivers');
  for (const namespace of ['default', ownNamespace]) await permit(namespace);
  await takeTheRightInTheWholeCluster();

  const probe = { name: 'port', http: { port, path: '/healthz' }, period: '200ms' };
  await api.post(NODE_SERVICES, nodeService('driver', { checks: [probe] }));
  await rig.history.until(node.name, LABEL, 'true');
  const fromMs = performance.now();
  const pods = { namespace: 'drivers', selector: { matchLabels: { app: 'driver' } } };
  await api.patch(`${NODE_SERVICES}/driver`, { spec: { checks: [{ name: 'pod', pods }, probe] } });
  const accepted = async () => conditionOf(api, 'driver', 'Ready');
  await waitFor(
    'the refusal',
    async () =>
      (await accepted()) ===
      'False NotPermitted: The coordinator may not watch the pods in drivers: add drivers to watchNamespaces in the chart, or grant it the verbs list and watch on these pods',
    { timeoutMs: 60_000 },
  );
  const { services } = await (await rig.leader()).explain(node.name);
  expect(services.find(({ name }) => name === 'driver')).toMatchObject({
    state: 'unknown',
    reason: 'the pods in drivers have not been listed yet',
  });

  await createPod(api, {
    namespace: 'drivers',
    name: 'driver',
    nodeName: node.name,
    labels: { app: 'driver' },
    ready: true,
    podIP: node.address,
    hostIP: node.address,
  });
  await permit('drivers');
  await waitFor('its acceptance', async () => (await accepted()).startsWith('True InForce'), { timeoutMs: 60_000 });
  await waitFor(
    'the service to be ready by its pod',
    async () => {
      const found = (await (await rig.leader()).explain(node.name)).services.find(({ name }) => name === 'driver');
      return found?.state === 'ready' && /pod drivers\/driver is Ready/.test(found.reason ?? '');
    },
    { timeoutMs: 60_000 },
  );
  for (const key of [LABEL, WS_DAEMON_READY]) expect(rig.history.since(fromMs, key)).toEqual([]);
  await driver.stop();
});
