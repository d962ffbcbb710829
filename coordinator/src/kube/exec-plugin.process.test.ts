import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ExecLimits, ExecPlugin } from '@rollcall/common/exec-plugin.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Connection } from './connection.ts';
import { fileAccess } from './kube-config.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rollcall-exec-'));
});

afterEach(() => {
  for (const pid of processesOf(dir)) process.kill(pid, 'SIGKILL');
  rmSync(dir, { recursive: true });
});

/** The processes that were started with the folder of this test in their environment. */
function processesOf(marker: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`ROLLCALL_TEST_MARKER=${marker}\0`);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** A kubeconfig whose user has this script for a plugin; each of its runs writes a line to `runs`. */
function kubeconfigWith(script: string, more: { exec?: object; cluster?: object } = {}): string {
  const command = join(dir, 'plugin.sh');
  writeFileSync(command, `#!/bin/sh\necho run >> ${join(dir, 'runs')}\n${script}\n`);
  chmodSync(command, 0o755);
  const env = [{ name: 'ROLLCALL_TEST_MARKER', value: dir }];
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, env, interactiveMode: 'Never', ...more.exec };
  const path = join(dir, 'kubeconfig');
  writeFileSync(
    path,
    JSON.stringify({
      clusters: [{ name: 'k', cluster: { server: 'https://127.0.0.1:1', ...more.cluster } }],
      users: [{ name: 'k', user: { exec } }],
      contexts: [{ name: 'k', context: { cluster: 'k', user: 'k' } }],
      'current-context': 'k',
    }),
  );
  return path;
}

const runs = () => (existsSync(join(dir, 'runs')) ? readFileSync(join(dir, 'runs'), 'utf8').length / 4 : 0);
const credential = (status: object) => `echo '${JSON.stringify({ kind: 'ExecCredential', status })}'`;
const LONG = 'sleep 600';

function opened(script: string, limits?: ExecLimits) {
  const clock = new FakeClock();
  const access = fileAccess({ kubeconfig: kubeconfigWith(script), master: '' }, undefined, new ExecPlugin(limits));
  return { clock, access, connection: new Connection(access, { maxSockets: 1, clock }) };
}

describe('a credential plugin that hangs', () => {
  test('is run once, however long and by however many requests it is waited for', async () => {
    const { clock, access, connection } = opened(LONG);
    for (let times = 0; times < 4; times += 1) {
      connection.destination('request').catch(() => {});
      connection.destination('stream').catch(() => {});
      access.options().catch(() => {});
      await clock.advance(6000);
    }
    await vi.waitFor(() => expect(runs()).toBeGreaterThan(0), 20_000);
    await clock.advance(6000);
    connection.destination('request').catch(() => {});
    access.renew();
    connection.renew();
    connection.destination('request').catch(() => {});
    // The script and its `sleep`.
    await vi.waitFor(() => expect(processesOf(dir)).toHaveLength(2), 20_000);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect([runs(), processesOf(dir).length]).toEqual([1, 2]);
  });

  test.each([
    ['waits for a child', LONG],
    ['ignores SIGTERM, as its children do', `trap '' TERM\n${LONG} & ${LONG} & wait; ${LONG}`],
    ['has closed its output', `exec >&- 2>&-\n${LONG}`],
    ['has ended, but left a child that keeps its output open', `${LONG} &`],
    ['writes without end', 'while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done'],
  ])('is killed with its children when its time is up, if it %s', async (_what, script) => {
    const { access } = opened(script, { patienceMs: 60_000, limitMs: 1000 });
    await expect(access.options()).rejects.toMatchObject({
      code: 'KUBE_UNREACHABLE',
      message: expect.stringContaining(`The credential plugin ${join(dir, 'plugin.sh')}`),
    });
    await vi.waitFor(() => expect(processesOf(dir)).toEqual([]), 20_000);
    expect(runs()).toBe(1);
  });

  test('is named to those who wait, before their own time is up, and goes on', async () => {
    const { access } = opened(`sleep 2; ${credential({ token: 'late' })}`, { patienceMs: 200, limitMs: 60_000 });
    await expect(access.options()).rejects.toMatchObject({
      message: `The credential plugin ${join(dir, 'plugin.sh')} has not answered for 0.2 s`,
    });
    const answered = async () => expect((await access.options()).headers).toEqual({ Authorization: 'Bearer late' });
    await vi.waitFor(answered, 20_000);
    expect(runs()).toBe(1);
  });
});

describe('a credential plugin', () => {
  test.each([['cannot be started', '/nowhere/plugin', 'ENOENT']])(
    'that %s is named',
    async (_what, command, reason) => {
      const path = kubeconfigWith('');
      writeFileSync(path, readFileSync(path, 'utf8').replace(join(dir, 'plugin.sh'), command));
      const { options } = fileAccess({ kubeconfig: path, master: '' });
      await expect(options()).rejects.toMatchObject({
        code: 'KUBE_UNREACHABLE',
        message: expect.stringMatching(new RegExp(`${command} .*${reason}`)),
      });
    },
  );

  test.each([
    ['fails', 'echo "log in first" >&2; exit 3', 'ended with code 3: log in first'],
    ['gives no JSON', 'echo hello', 'did not print an ExecCredential'],
    ['gives another object', 'echo null', 'did not print an ExecCredential'],
    ['gives no credential', credential({}), 'printed neither a token nor a client certificate'],
  ])('that %s is named', async (_what, script, problem) => {
    const { access } = opened(script);
    const message = `The credential plugin ${join(dir, 'plugin.sh')} ${problem}`;
    await expect(access.options()).rejects.toMatchObject({ code: 'KUBE_UNREACHABLE', message });
  });

  test('is run again when its credential has expired, or was not accepted', async () => {
    const { access } = opened(credential({ token: 'one', expirationTimestamp: '2020-01-01T00:00:00Z' }));
    await access.options();
    await access.options();
    expect(runs()).toBe(2);
    writeFileSync(join(dir, 'runs'), '');
    const lasting = opened(credential({ clientCertificateData: 'cert', clientKeyData: 'key' })).access;
    expect(await lasting.options()).toMatchObject({ cert: 'cert', key: 'key' });
    await lasting.options();
    expect(runs()).toBe(1);
    lasting.renew();
    await lasting.options();
    expect(runs()).toBe(2);
  });
});

describe('what a credential plugin is told in KUBERNETES_EXEC_INFO', () => {
  const REFUSES = `test -n "$KUBERNETES_EXEC_INFO" || { echo 'run me by kubectl' >&2; exit 1; }
printf %s "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info"`;

  /** What the plugin was told. */
  async function told(more: { exec?: object; cluster?: object }, master = ''): Promise<unknown> {
    const kubeconfig = kubeconfigWith(`${REFUSES}; ${credential({ token: 'secret' })}`, more);
    const { headers } = await fileAccess({ kubeconfig, master }).options();
    expect(headers).toEqual({ Authorization: 'Bearer secret' });
    return JSON.parse(readFileSync(join(dir, 'info'), 'utf8'));
  }

  test.each(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'])(
    'is the version that the kubeconfig names, and that no user can be asked: %s',
    async (apiVersion) => {
      const info = { kind: 'ExecCredential', apiVersion, spec: { interactive: false } };
      expect(await told({ exec: { apiVersion } })).toEqual(info);
    },
  );

  test('is not what the kubeconfig sets in its place, nor what is in the environment', async () => {
    vi.stubEnv('KUBERNETES_EXEC_INFO', '{}');
    onTestFinished(() => void vi.unstubAllEnvs());
    const env = [{ name: 'KUBERNETES_EXEC_INFO', value: '{}' }];
    expect(await told({ exec: { env } })).toMatchObject({ kind: 'ExecCredential' });
  });

  test('is the cluster as well, if the kubeconfig asks for it', async () => {
    const cluster = {
      'tls-server-name': 'kubernetes',
      'proxy-url': 'http://127.0.0.1:3128',
      'certificate-authority-data': Buffer.from('the CA').toString('base64'),
    };
    const info = await told({ cluster, exec: { provideClusterInfo: true } });
    expect(info).toMatchObject({
      spec: { interactive: false, cluster: { server: 'https://127.0.0.1:1', ...cluster } },
    });
    expect(info).not.toHaveProperty('spec.cluster.insecure-skip-tls-verify');
  });

  test('is the address of --master, the content of a CA file, and whether certificates are not verified', async () => {
    writeFileSync(join(dir, 'ca.crt'), 'the CA');
    const cluster = { 'certificate-authority': 'ca.crt', 'insecure-skip-tls-verify': true };
    const info = await told({ cluster, exec: { provideClusterInfo: true } }, 'https://127.0.0.1:2');
    expect(info).toMatchObject({
      spec: {
        cluster: {
          server: 'https://127.0.0.1:2',
          'insecure-skip-tls-verify': true,
          'certificate-authority-data': Buffer.from('the CA').toString('base64'),
        },
      },
    });
  });
});
