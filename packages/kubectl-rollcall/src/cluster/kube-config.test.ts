import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { kubeConfigDocument } from '../testing/stand-in.test-fixtures.ts';
import { loadKubeConfig } from './kube-config.ts';

function fileWith(document: object): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'kubectl-rollcall-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = path.join(dir, 'config');
  writeFileSync(file, JSON.stringify(document));
  return file;
}

const document = kubeConfigDocument('http://127.0.0.1:1') as { contexts: object[] };
const other = { name: 'other', context: { cluster: 'c', user: 'u' } };

test('the context of the file is used, or the one that is asked for', () => {
  const kubeconfig = fileWith({ ...document, contexts: [...document.contexts, other] });
  expect(loadKubeConfig({ kubeconfig }).getCurrentContext()).toBe('x');
  expect(loadKubeConfig({ kubeconfig, context: 'other' }).getCurrentContext()).toBe('other');
});

test('a context that is not there is answered with those that are', () => {
  const kubeconfig = fileWith({ ...document, contexts: [...document.contexts, other] });
  expect(() => loadKubeConfig({ kubeconfig, context: 'none' })).toThrow(
    expect.objectContaining({ message: 'There is no context none', cure: 'choose one of: x, other' }),
  );
  expect(() => loadKubeConfig({ kubeconfig: fileWith({ ...document, contexts: [] }), context: 'none' })).toThrow(
    expect.objectContaining({ cure: 'choose one of: (none)' }),
  );
});

test('an auth-provider that is not known is named, instead of a 401', () => {
  const user = { 'auth-provider': { name: 'keystone' } };
  const kubeconfig = fileWith({ ...document, users: [{ name: 'u', user }] });
  expect(() => loadKubeConfig({ kubeconfig })).toThrow('the auth-provider "keystone", which is not supported');
});

test('a file that cannot be read is named with the reason', () => {
  expect(() => loadKubeConfig({ kubeconfig: '/nonexistent' })).toThrow(
    expect.objectContaining({
      name: 'CommandFailure',
      message: expect.stringMatching(/^The kubeconfig cannot be read: ENOENT/),
      cure: 'pass another file with --kubeconfig',
    }),
  );
});

test('a context without a cluster is no cluster to ask', () => {
  expect(() => loadKubeConfig({ kubeconfig: fileWith({ ...document, 'current-context': 'none' }) })).toThrow(
    expect.objectContaining({ message: 'The kubeconfig names no cluster', cure: 'choose a context with --context' }),
  );
});

test.each([
  ['http://10.0.0.1:8080', {}],
  ['http://127.0.0.1:1', { 'proxy-url': 'http://proxy:3128' }],
])('nothing is sent in clear text: %s %j', (server, more) => {
  const clusters = [{ name: 'c', cluster: { server, ...more } }];
  expect(() => loadKubeConfig({ kubeconfig: fileWith({ ...document, clusters }) })).toThrow(
    expect.objectContaining({
      name: 'CommandFailure',
      message: expect.stringContaining('would get credentials in clear text'),
      exitCode: 2,
    }),
  );
});

describe('a credential plugin', () => {
  const LONG = 'sleep 600';

  /** Whose kubeconfig runs this script, and the lines that it wrote: one for each run, with the id of its process. */
  function withPlugin(script: string, more = {}) {
    const runs = fileWith({});
    writeFileSync(runs, '');
    const exec = { command: '/bin/sh', args: ['-c', `echo $$ >> ${runs}; ${script}`], ...more };
    const kubeconfig = fileWith({ ...document, users: [{ name: 'u', user: { exec } }] });
    return { kubeconfig, pids: () => readFileSync(runs, 'utf8').split('\n').filter(Boolean).map(Number) };
  }

  const isAlive = (pid = 0) => {
    try {
      // Of its group, its children included.
      return process.kill(-pid, 0);
    } catch {
      return false;
    }
  };

  test('is one process for all who ask, and its credential is used', async () => {
    const { kubeconfig, pids } = withPlugin(`echo '{"status":{"token":"secret"}}'`);
    const config = loadKubeConfig({ kubeconfig });
    const asked = Array.from({ length: 3 }, async () => {
      const options = { headers: {} };
      await config.applyToHTTPSOptions(options);
      return options.headers;
    });
    expect(await Promise.all(asked)).toEqual(asked.map(() => ({ Authorization: 'Bearer secret' })));
    expect(pids()).toHaveLength(1);
  });

  test('learns that it cannot prompt, and the cluster if the kubeconfig provides it', async () => {
    const apiVersion = 'client.authentication.k8s.io/v1';
    const info = fileWith({});
    const script = `test -n "$KUBERNETES_EXEC_INFO" || exit 1; printf %s "$KUBERNETES_EXEC_INFO" > ${info}`;
    const { kubeconfig } = withPlugin(`${script}; echo '{"status":{"token":"secret"}}'`, {
      apiVersion,
      provideClusterInfo: true,
    });
    await loadKubeConfig({ kubeconfig }).applyToHTTPSOptions({});
    const cluster = { server: 'http://127.0.0.1:1', 'insecure-skip-tls-verify': true };
    const spec = { interactive: false, cluster };
    expect(JSON.parse(readFileSync(info, 'utf8'))).toEqual({ kind: 'ExecCredential', apiVersion, spec });
  });

  test('that hangs is named and killed with its children', async () => {
    const { kubeconfig, pids } = withPlugin(`${LONG} & ${LONG}`);
    const config = loadKubeConfig({ kubeconfig }, undefined, 1000);
    await expect(config.applyToHTTPSOptions({})).rejects.toThrow('The credential plugin /bin/sh');
    await vi.waitFor(() => expect(pids().map(isAlive)).toEqual([false]), 10_000);
  });

  test('is killed with its children when the command is interrupted', async () => {
    const { kubeconfig, pids } = withPlugin(`${LONG} & ${LONG}`);
    const stop = new AbortController();
    const applied = loadKubeConfig({ kubeconfig }, stop.signal).applyToHTTPSOptions({});
    const failed = expect(applied).rejects.toThrow('was interrupted');
    await vi.waitFor(() => expect(pids()).toHaveLength(1), 10_000);
    stop.abort();
    await failed;
    await vi.waitFor(() => expect(pids().map(isAlive)).toEqual([false]), 10_000);
  });
});

test('without a flag, KUBECONFIG names the file', () => {
  vi.stubEnv('KUBECONFIG', fileWith(document));
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(loadKubeConfig({}).getCurrentCluster()?.server).toBe('http://127.0.0.1:1');
});

test('where nothing names a cluster, no server is asked', () => {
  vi.stubEnv('KUBECONFIG', '');
  vi.stubEnv('HOME', '/nonexistent');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(() => loadKubeConfig({})).toThrow(
    expect.objectContaining({ message: 'There is no kubeconfig', cure: 'pass --kubeconfig, or set KUBECONFIG' }),
  );
});
