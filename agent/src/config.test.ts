import { describe, expect, test } from 'vitest';
import { type AgentConfig, loadConfig } from './config.ts';

type Given = { argv?: string[]; env?: Record<string, string>; files?: Record<string, string> };

function load({ argv = ['--node-name', 'n'], env = {}, files = {} }: Given) {
  return loadConfig({
    argv,
    env,
    readFile: (path) => {
      const content = files[path];
      if (content === undefined) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' });
      return content;
    },
  });
}

async function values(given: Given): Promise<AgentConfig> {
  const loaded = await load(given);
  if (loaded.action !== 'run') throw new Error('nothing to run');
  return loaded.values;
}

function invalid(message: RegExp) {
  return expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });
}

describe('the configuration of the agent', () => {
  test('has the documented defaults', async () => {
    expect(await values({})).toEqual({
      nodeName: 'n',
      hostIp: '127.0.0.1',
      probePeriodMs: 1000,
      probeIdlePeriodMs: 5000,
      probeTimeoutMs: 1000,
      failureThreshold: 3,
      successThreshold: 1,
      coordinatorUrl: ['https://rollcall-coordinator.rollcall.svc:8443'],
      coordinatorCaFile: '/etc/rollcall/ca/ca.crt',
      coordinatorServerName: 'rollcall-coordinator.rollcall.svc',
      tokenFile: '/var/run/secrets/rollcall/token',
      heartbeatSeconds: 10,
      probePaths: [],
      sysfsRoot: '/sys',
      procfsRoot: '/proc',
      deviceRemovalGraceSeconds: 5,
      deviceTreeNodes: [],
      listen: '[::]:8086',
      jsonLog: true,
      verbose: false,
      config: undefined,
    });
  });

  test('takes node name, node address and coordinator from the environment', async () => {
    const env = { NODE_NAME: 'n.1', HOST_IP: 'fd00::7', ROLLCALL_COORDINATOR_URL: 'https://a:1, https://b:2' };
    expect(await values({ argv: [], env })).toMatchObject({
      nodeName: 'n.1',
      hostIp: 'fd00::7',
      coordinatorUrl: ['https://a:1', 'https://b:2'],
    });
  });

  test('looks for the coordinator in its own namespace', async () => {
    expect(await values({ env: { POD_NAMESPACE: 'ops' } })).toMatchObject({
      coordinatorUrl: ['https://rollcall-coordinator.ops.svc:8443'],
      coordinatorServerName: 'rollcall-coordinator.ops.svc',
    });
  });

  test('refuses a namespace that none can have', async () => {
    await expect(load({ env: { POD_NAMESPACE: 'Ops' } })).rejects.toThrow(
      invalid(/^POD_NAMESPACE: must be a DNS label/),
    );
  });

  test.each([
    [{ ROLLCALL_COORDINATOR_SERVICE_HOST: '10.1.2.3' }, 'https://10.1.2.3:8443'],
    [
      { ROLLCALL_COORDINATOR_SERVICE_HOST: '10.1.2.3', ROLLCALL_COORDINATOR_SERVICE_PORT: '9443' },
      'https://10.1.2.3:9443',
    ],
    [{ ROLLCALL_COORDINATOR_SERVICE_HOST: 'fd00::3' }, 'https://[fd00::3]:8443'],
  ])('adds the address of the Service, so that it needs no cluster DNS: %o', async (env, second) => {
    expect((await values({ env })).coordinatorUrl).toEqual(['https://rollcall-coordinator.rollcall.svc:8443', second]);
  });

  test.each<[string, Given]>([
    ['flag', { argv: ['--node-name=n', '--coordinator-url=https://a:1'] }],
    ['variable', { env: { ROLLCALL_COORDINATOR_URL: 'https://a:1' } }],
    [
      'file',
      {
        argv: ['--node-name=n', '--config=/c'],
        files: { '/c': 'apiVersion: rollcall.dev/v1alpha1\nkind: AgentConfiguration\ncoordinatorUrl: [https://a:1]\n' },
      },
    ],
  ])('adds nothing to a coordinator that a %s names', async (_source, given) => {
    const env = { ...given.env, ROLLCALL_COORDINATOR_SERVICE_HOST: '10.1.2.3' };
    expect((await values({ ...given, env })).coordinatorUrl).toEqual(['https://a:1']);
  });

  test('can be printed and read again', async () => {
    const argv = ['--node-name=n', '--probe-period-ms=250', '--heartbeat-seconds=2.5', '--listen=off', '-j=false'];
    const printed = await load({ argv: [...argv, '--print-config'] });
    const text = printed.action === 'print' ? printed.text : '';
    const again = await values({ argv: ['--config=/c'], files: { '/c': text } });
    expect(again).toEqual({ ...(await values({ argv })), config: '/c' });
  });

  test.each<[string, string[], RegExp]>([
    ['no node name', [], /^--node-name: is required/],
    ['a node name that no Node can have', ['--node-name=Node_1'], /^--node-name: /],
    ['a node name with an empty label', ['--node-name=a..b'], /^--node-name: /],
    ['a node name that is too long', [`--node-name=${'a'.repeat(254)}`], /^--node-name: /],
    ['a host that is no address', ['--node-name=n', '--host-ip=10.0.0.256'], /^--host-ip: /],
    ['a period of no time', ['--node-name=n', '--probe-period-ms=99'], /^--probe-period-ms: /],
    ['a time-out of no time', ['--node-name=n', '--probe-timeout-ms=0'], /^--probe-timeout-ms: /],
    ['a threshold of 0', ['--node-name=n', '--failure-threshold=0'], /^--failure-threshold: /],
    ['a broken threshold', ['--node-name=n', '--success-threshold=1.5'], /^--success-threshold: /],
    ['heartbeats too close', ['--node-name=n', '--heartbeat-seconds=0.1'], /^--heartbeat-seconds: /],
    ['a bare host as coordinator', ['--node-name=n', '--coordinator-url=host:8443'], /^--coordinator-url: /],
    [
      'plain HTTP to elsewhere',
      ['--node-name=n', '--coordinator-url=http://10.0.0.1:1'],
      /^--coordinator-url: .*https/,
    ],
    ['no coordinator', ['--node-name=n', '--coordinator-url='], /^--coordinator-url: /],
    [
      'an address as server name',
      ['--node-name=n', '--coordinator-server-name=10.0.0.1'],
      /^--coordinator-server-name/,
    ],
    [
      'a server name that is none',
      ['--node-name=n', '--coordinator-server-name=a_b'],
      /^--coordinator-server-name: must be a DNS name in lower case/,
    ],
    ['a listener without port', ['--node-name=n', '--listen=0.0.0.0'], /^--listen: /],
    ['no token file', ['--node-name=n', '--token-file='], /^--token-file: /],
    ['a relative directory', ['--node-name=n', '--probe-paths=/run,var'], /^--probe-paths: must be absolute/],
    ['a relative root', ['--node-name=n', '--sysfs-root=sys'], /^--sysfs-root: /],
    ['relative feature files', ['--node-name=n', '--features-dir=features.d'], /^--features-dir: /],
  ])('refuses %s', async (_what, argv, message) => {
    await expect(load({ argv })).rejects.toThrow(invalid(message));
  });

  test.each([
    ['probe-period-ms', 100, 3_600_000],
    ['probe-timeout-ms', 10, 3_600_000],
    ['failure-threshold', 1, 1000],
    ['success-threshold', 1, 1000],
    ['heartbeat-seconds', 0.2, 600],
    ['device-removal-grace-seconds', 0, 300],
  ])('takes --%s from %d to %d', async (flag, least, most) => {
    const given = (value: number) => load({ argv: ['--node-name=n', `--${flag}=${value}`] });
    for (const value of [least, most]) expect(await given(value)).toMatchObject({ action: 'run' });
    for (const value of [least - 0.1, most + 1]) await expect(given(value)).rejects.toThrow(invalid(/ from /));
  });

  test('has nothing of Gitpod, and says of a list of services what to do instead', async () => {
    for (const flag of ['--namespace=a', '--ws-daemon-port=1', '--registry-facade-ca-file=/ca']) {
      await expect(load({ argv: ['--node-name=n', flag] })).rejects.toThrow(invalid(/^unknown flag/));
    }
    const files = {
      '/c': 'apiVersion: rollcall.dev/v1alpha1\nkind: AgentConfiguration\nservices:\n- {name: a, port: 1}\n',
    };
    await expect(load({ argv: ['--node-name=n', '--config=/c'], files })).rejects.toThrow(
      invalid(/^\/c: services: .*NodeService/),
    );
  });

  test('refuses a configuration file that names another one', async () => {
    const files = { '/c': 'apiVersion: rollcall.dev/v1alpha1\nkind: AgentConfiguration\nconfig: /d\n' };
    await expect(load({ argv: ['--node-name=n', '--config=/c'], files })).rejects.toThrow(
      invalid(/config: unknown field/),
    );
  });

  test.each(['heartbeat-seconds', 'device-removal-grace-seconds'])('takes --%s with a fraction', async (flag) => {
    expect(await load({ argv: ['--node-name=n', `--${flag}=2.5`] })).toMatchObject({ action: 'run' });
  });

  test.each([
    ['-v', { verbose: true }],
    ['-j=false', { jsonLog: false }],
    ['--host-ip=node-1.example', { hostIp: 'node-1.example' }],
    ['--probe-paths=/run,/var/lib', { probePaths: ['/run', '/var/lib'] }],
    ['--features-dir=/features.d', { featuresDir: '/features.d' }],
  ])('takes %s', async (flag, expected) => {
    expect(await values({ argv: ['--node-name=n', flag] })).toMatchObject(expected);
  });

  test('names the variable when that is what is wrong', async () => {
    await expect(load({ argv: [], env: { NODE_NAME: 'A B' } })).rejects.toThrow(invalid(/^NODE_NAME: /));
    const env = { NODE_NAME: 'n', ROLLCALL_COORDINATOR_SERVICE_HOST: 'a/b' };
    await expect(load({ argv: [], env })).rejects.toThrow(invalid(/^ROLLCALL_COORDINATOR_SERVICE_HOST/));
  });
});
