import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

// A CRD that comes is noticed within 30 s.
vi.setConfig({ testTimeout: 180_000 });

let embedded: EmbeddedRig;
let node: SimulatedNode;
/** Since when nothing was to happen to what is Gitpod's. */
let fromMs: number;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 1, agentArgs: ['--probe-paths=/run/rollcall-test'], clockSpeed: 4 });
  node = embedded.rig.node(0);
  await embedded.rig.allReady();
  fromMs = performance.now();
});

afterAll(() => embedded?.stop());

const create = (name: string, spec: object) => embedded.controlPlane.api.post(NODE_SERVICES, nodeService(name, spec));
const checking = (check: object) => ({ checks: [{ name: 'check', ...check }] });
const remove = (name: string) => embedded.controlPlane.api.delete(`${NODE_SERVICES}/${name}`);
const accepted = (name: string) => conditionOf(embedded.controlPlane.api, name, 'Ready');
const labels = async () =>
  (await embedded.controlPlane.api.get(`/api/v1/nodes/${node.name}`)).metadata.labels as Record<string, string>;

async function reasonOf(name: string): Promise<string | undefined> {
  const { services } = await (await embedded.rig.leader()).explain(node.name);
  return services.find((service) => service.name === name)?.reason;
}

const until = (what: string, isSo: () => Promise<boolean>) => waitFor(what, isSo, { timeoutMs: 60_000 });
const untilReason = (name: string, reason: RegExp) =>
  until(`the reason of ${name}`, async () => reason.test((await reasonOf(name)) ?? ''));

function expectNothingElseDisturbed(): void {
  for (const key of [WS_DAEMON_READY, REGISTRY_FACADE_READY])
    expect(embedded.rig.history.since(fromMs, key)).toEqual([]);
}

test('a CRD that is not installed disturbs nothing, and one that comes later is noticed', async () => {
  expect(await (await embedded.rig.leader()).explain(node.name)).toMatchObject({ services: [{}, {}] });
  await applyNodeServiceCrd(embedded.controlPlane);
  await create('late', checking({ tcp: { port: 1 } }));
  await until('the NodeService to be accepted', async () => (await accepted('late')).startsWith('True'));
  await remove('late');
  expectNothingElseDisturbed();
});

describe('a NodeService is not ready, and says why, where', () => {
  test('the address of its pod is the metadata address of a cloud', async () => {
    await createPod(embedded.controlPlane.api, {
      namespace: 'default',
      name: 'metadata',
      nodeName: node.name,
      labels: { app: 'metadata' },
      ready: true,
      podIP: '169.254.169.254',
    });
    const pods = { namespace: 'default', selector: { matchLabels: { app: 'metadata' } } };
    await create('metadata', {
      checks: [
        { name: 'pod', pods },
        { name: 'port', http: { port: 80 } },
      ],
    });
    await untilReason('metadata', /^not probed: not at 169\.254\.169\.254:80: it is link-local/);
    await remove('metadata');
  });

  test('its path is outside of --probe-paths', async () => {
    await create('passwd', checking({ file: { path: '/etc/passwd' } }));
    await untilReason('passwd', /^not probed: not at \/etc\/passwd: --probe-paths of this agent names only /);
    await remove('passwd');
  });

  test('its selector of pods matches nothing', async () => {
    await create(
      'nowhere',
      checking({ pods: { namespace: 'default', selector: { matchLabels: { app: 'nowhere' } } } }),
    );
    await untilReason('nowhere', /^no pod on the node matches .* in .*$/);
    await remove('nowhere');
  });
});

describe('a NodeService is refused, and says why, where', () => {
  test('its kind of check is newer than the coordinator', async () => {
    // Install the CRD of a later version.
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeservices.rollcall.dev';
    type Schema = { properties?: Record<string, Schema>; [field: string]: unknown };
    const { api } = embedded.controlPlane;
    const crd = await api.get<KubeObject & { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } }>(path);
    const spec = crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec'];
    const quic = { type: 'object', properties: { port: { type: 'integer' } } };
    const checks = spec?.properties?.['checks'] as { items: Schema } | undefined;
    const { 'x-kubernetes-validations': _, ...check } = checks?.items ?? {};
    if (checks) checks.items = { ...check, properties: { ...check.properties, quic } };
    await api.put(path, crd);
    const newer = checking({ quic: { port: 7 } });
    await until('the new CRD to be in force', async () => {
      const tried = await api.post(`${NODE_SERVICES}?dryRun=All`, nodeService('newer', newer)).catch(() => ({}));
      return JSON.stringify(tried).includes('"quic":{"port":7}');
    });
    // A watch that is open goes on without the new fields, and a later version comes with a new coordinator anyway.
    await embedded.rig.endCoordinator(await embedded.rig.leader(), 'SIGTERM');
    await embedded.rig.addCoordinator();
    await create('newer', newer);
    await until('the refusal', async () =>
      /^False UnknownField: spec\.checks\[0\]\.quic is not known to this version of rollcall$/.test(
        await accepted('newer'),
      ),
    );
    await remove('newer');
  });
});

test('of a selector that selects no node it is unknown whether all nodes are ready, and why names the term', async () => {
  await create('elsewhere', { nodeSelector: { matchLabels: { tier: 'none' } }, ...checking({ tcp: { port: 1 } }) });
  await until('the status', async () =>
    /^Unknown NoNodes: The nodeSelector selects no node \(kubectl rollcall why nodeservice\/elsewhere\)$/.test(
      await conditionOf(embedded.controlPlane.api, 'elsewhere', 'NodesReady'),
    ),
  );
  const url = `--console-url=${(await embedded.rig.leader()).consoleUrl}`;
  expect((await runPlugin(['status', url])).stdout).toMatch(
    /warn +The nodeSelector of elsewhere selects no node\n +fix: kubectl rollcall why nodeservice\/elsewhere/,
  );
  expect((await runPlugin(['why', 'nodeservice/elsewhere', url])).stdout).toContain(
    'elsewhere belongs on no node: no node has the label tier',
  );
  await remove('elsewhere');
});

test('none of it left anything, or touched what is there', async () => {
  const published = async () => Object.keys(await labels()).filter((key) => key.startsWith('service.rollcall.dev/'));
  await until('no label of a NodeService', async () => (await published()).length === 0);
  expectNothingElseDisturbed();
});
