import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiClient, KubeObject } from '../control-plane/api-client.ts';
import { createNamespace, requestToken } from '../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm } from '../helm/helm.ts';
import { CHART, MANIFESTS } from './render.ts';

// The chart brings the Secret and the ConfigMap of the certificates, and the coordinator fills them: nothing that
// installs the chart again may take away what is in them.

type DataObject = KubeObject & { type?: string; data?: Record<string, string> };
const OBJECTS = {
  '/api/v1/namespaces/rollcall/secrets/rollcall-coordinator-tls': {
    'ca.crt': 'eA==',
    'tls.crt': 'eA==',
    'tls.key': 'eA==',
  },
  '/api/v1/namespaces/rollcall/configmaps/rollcall-coordinator-ca': { 'ca.crt': 'x' },
};
const RELEASE = ['rollcall', '--namespace', 'rollcall'];
const NO_PRUNE = ['--set', 'uninstall.prune=false'];

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane();
});
afterAll(() => controlPlane?.stop());

/** Writes what a coordinator writes, with the rights of its account. */
async function fill(): Promise<void> {
  const { api } = controlPlane;
  const token = await requestToken(api, { namespace: 'rollcall', serviceAccount: 'rollcall-coordinator' });
  const coordinator: ApiClient = await controlPlane.clientFor(token);
  for (const [object, data] of Object.entries(OBJECTS)) {
    await waitFor('the rights', async () => {
      const { metadata, ...rest } = await coordinator.get<DataObject>(object);
      const annotations = { ...metadata.annotations, 'rollcall.dev/published-at': 'now' };
      const own = object.includes('configmaps') ? { ...metadata, annotations } : metadata;
      const body = JSON.stringify({ ...rest, data, metadata: own });
      return (await coordinator.exchange('PUT', `${object}?fieldManager=rollcall`, body)).status === 200;
    });
  }
  coordinator.close();
}

async function expectFilled(): Promise<void> {
  for (const [object, data] of Object.entries(OBJECTS))
    expect((await controlPlane.api.get<DataObject>(object)).data).toEqual(data);
}

const areGone = async () => {
  const answers = Object.keys(OBJECTS).map((object) => controlPlane.api.exchange('GET', object));
  return (await Promise.all(answers)).every(({ status }) => status === 404);
};

test.each([3, 4] as const)(
  'Helm %i keeps the certificates in an upgrade and a rollback, and deletes them with the release',
  async (version) => {
    const helm = await ensureHelm(version === 3 ? undefined : version);
    const { kubeconfig } = controlPlane;
    await helm(['install', ...RELEASE, CHART, '--create-namespace', ...NO_PRUNE], { kubeconfig });
    await fill();
    await helm(['upgrade', ...RELEASE, CHART, ...NO_PRUNE, '--set', 'commonLabels.team=a'], { kubeconfig });
    await expectFilled();
    await helm(['rollback', ...RELEASE, '1'], { kubeconfig });
    await expectFilled();
    await helm(['upgrade', ...RELEASE, CHART, ...NO_PRUNE], { kubeconfig });
    await expectFilled();
    await helm(['uninstall', ...RELEASE], { kubeconfig });
    expect(await areGone()).toBe(true);
  },
  600_000,
);

test.each<[string, string[]]>([
  ['on its own side', []],
  ['on the side of the server', ['--server-side']],
])(
  'kubectl that applies install.yaml %s again keeps the certificates, and kubectl delete deletes them',
  async (_where, args) => {
    const { kubectl, api } = controlPlane;
    await createNamespace(api, 'rollcall').catch(() => {});
    const file = path.join(MANIFESTS, 'install.yaml');
    await kubectl(['apply', ...args, '-f', file]);
    await fill();
    await kubectl(['apply', ...args, '-f', file]);
    await expectFilled();
    await kubectl(['delete', '-f', file, '--wait=false']);
    expect(await areGone()).toBe(true);
  },
  600_000,
);
