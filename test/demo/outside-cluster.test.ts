import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileAccess } from '@rollcall/coordinator/kube/kube-config.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ApiError } from '../control-plane/api-client.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { ownNamespace } from '../control-plane/rbac.ts';
import { outsideCluster } from './outside-cluster.ts';
import { plainScreen } from './screen.ts';

let controlPlane: ControlPlane;
let dir: string;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  dir = await mkdtemp(path.join(tmpdir(), 'rollcall-exec-'));
}, 600_000);

afterAll(async () => {
  await controlPlane?.stop();
  if (dir) await rm(dir, { recursive: true, force: true });
});

// No controller ends a namespace here, nor deletes what is in it.
afterEach(async () => {
  await rm(path.join(dir, 'asked'), { force: true });
  const namespace = `/api/v1/namespaces/${ownNamespace}`;
  for (const kind of ['roles', 'rolebindings'])
    await controlPlane.api.delete(`/apis/rbac.authorization.k8s.io/v1/namespaces/${ownNamespace}/${kind}`);
  const { status, body } = await controlPlane.api.exchange('GET', namespace);
  if (status === 200) await controlPlane.api.put(`${namespace}/finalize`, { ...JSON.parse(body), spec: {} });
});

/** A kubeconfig with this entry for the cluster, whose user is known by what a script prints, as `aws eks get-token` does. */
async function kubeconfigWithPlugin(cluster: Readonly<Record<string, unknown>>): Promise<string> {
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: controlPlane.adminToken, expirationTimestamp: '2999-01-01T00:00:00Z' },
  };
  const plugin = path.join(dir, 'login');
  await writeFile(plugin, `#!/bin/sh\necho asked >> ${dir}/asked\necho '${JSON.stringify(credential)}'\n`);
  await chmod(plugin, 0o755);
  const exec = { apiVersion: credential.apiVersion, command: './login', interactiveMode: 'Never' };
  const file = path.join(dir, 'config');
  const named = { name: 'here', context: { cluster: 'here', user: 'me' } };
  await writeFile(
    file,
    stringify({
      clusters: [{ name: 'here', cluster }],
      users: [{ name: 'me', user: { exec } }],
      contexts: [named],
      'current-context': 'here',
    }),
  );
  return file;
}

/** Trust in the API server as kubeconfigs have it. */
const TRUST: Readonly<Record<string, () => Readonly<Record<string, unknown>>>> = {
  'a CA': () => ({ 'certificate-authority-data': btoa(controlPlane.ca) }),
  'another name in the certificate': () => ({
    'certificate-authority-data': btoa(controlPlane.ca),
    'tls-server-name': 'localhost',
  }),
  'insecure-skip-tls-verify': () => ({ 'insecure-skip-tls-verify': true }),
};

test.each(Object.keys(TRUST))(
  'a cluster of a kubeconfig with %s and a plugin for credentials is used, and cleaned up after',
  async (trust) => {
    const namespace = `/api/v1/namespaces/${ownNamespace}`;
    const file = await kubeconfigWithPlugin({ server: controlPlane.url, ...TRUST[trust]?.() });
    const cluster = await outsideCluster(file, plainScreen(process.stderr));
    expect((await cluster.api.get(namespace)).metadata.name).toBe(ownNamespace);
    expect(await readFile(path.join(dir, 'asked'), 'utf8')).toBe('asked\n');
    // The coordinator of the demo, whose token is of the same cluster, is let in as well.
    const own = fileAccess({ kubeconfig: cluster.coordinatorKubeconfig, master: '' });
    const options = (await own.options()) as RequestOptions;
    expect(await statusOf(`${own.server}/api/v1/nodes`, options)).toBe(200);
    await cluster.stop();
    const left = await controlPlane.api.get(namespace).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return { metadata: { deletionTimestamp: 'gone' } };
      throw error;
    });
    expect(left.metadata['deletionTimestamp']).toBeDefined();
  },
);

function statusOf(url: string, options: RequestOptions): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, options, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
}
