import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
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

/** A kubeconfig whose user is known by what this script prints, as `aws eks get-token` does. */
async function kubeconfigWithPlugin(): Promise<string> {
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: controlPlane.adminToken, expirationTimestamp: '2999-01-01T00:00:00Z' },
  };
  const plugin = path.join(dir, 'login');
  await writeFile(plugin, `#!/bin/sh\necho asked >> ${dir}/asked\necho '${JSON.stringify(credential)}'\n`);
  await chmod(plugin, 0o755);
  const exec = { apiVersion: credential.apiVersion, command: './login', interactiveMode: 'Never' };
  const cluster = { server: controlPlane.url, 'certificate-authority-data': btoa(controlPlane.ca) };
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

test('a cluster of a kubeconfig with a plugin for credentials is used, and cleaned up after', async () => {
  const namespace = `/api/v1/namespaces/${ownNamespace}`;
  const cluster = await outsideCluster(await kubeconfigWithPlugin(), plainScreen(process.stderr));
  expect((await cluster.api.get(namespace)).metadata.name).toBe(ownNamespace);
  expect(await readFile(path.join(dir, 'asked'), 'utf8')).toBe('asked\n');
  await cluster.stop();
  const { metadata } = await controlPlane.api.get(namespace).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return { metadata: { deletionTimestamp: 'gone' } };
    throw error;
  });
  expect(metadata['deletionTimestamp']).toBeDefined();
});
