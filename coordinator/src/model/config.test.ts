import { hasCode } from '@rollcall/common/coded-error.ts';
import { expect, test } from 'vitest';
import { loadConfig, loadEnvironment } from './config.ts';

const environment = { ownNamespace: 'rollcall', podName: undefined, podIp: undefined };

function load(argv: readonly string[], file = '') {
  return loadConfig({ argv, env: {}, readFile: () => file }, environment);
}

test('a configuration that is copied from NFD is accepted', async () => {
  const argv = ['--pci-device-class-whitelist=0x03,030200', '--usb-device-label-fields=class,vendro'];
  expect(await load(argv)).toMatchObject({
    values: { pciDeviceClassWhitelist: ['0x03', '030200'], usbDeviceLabelFields: ['class', 'vendro'] },
  });
});

test.each([
  ['--evict-readiness', 'needs --evict'],
  ['--notify-nodes=a', 'needs --notify-url'],
  ['--notify-nodes=A_b', 'must be names of Nodes'],
  ['--notify-url=ftp://x', 'must be an http:// or https:// URL'],
  ['--rules-allowed-prefixes=accel erators/', 'must be prefixes of label keys'],
  ['--pools-allowed-prefixes=/x', 'must be prefixes of label keys'],
  ['--scheduler-client-ca-file=/x', 'needs --scheduler-tls=on'],
  ['--score-weights=density=x', 'must be TERM=WEIGHT'],
  ['--score-weights=no-such=1', 'for one of density, occupied'],
  ['--max-workspaces-per-node=0', 'from 1 to 10000'],
  ['--scheduler-pod-selector=a in b', 'must be a label selector'],
  ['--scheduler-node-selector=', 'must be a label selector'],
  ['--scheduler-services=A_b', 'must be names of NodeServices'],
  ['--usb-device-class-whitelist=zz', 'up to four hexadecimal digits'],
  ['--fact-labels=a b', 'must be names of facts'],
  ['--forbidden-label-domains=a..b', 'must be domains'],
  ['--pool-labels=a b', 'must be one or more label keys'],
  ['--startup-gate-requires=a b', 'must be label keys'],
])('%s is refused by one line that names it', async (flag, problem) => {
  const error: unknown = await load([flag]).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(hasCode(error, 'CONFIG_INVALID')).toBe(true);
  expect(String(error)).toContain(`${flag.split('=', 1)[0]}: `);
  expect(String(error)).toContain(problem);
});

test('what belongs together may stand in groups of the file', async () => {
  const file = JSON.stringify({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'CoordinatorConfiguration',
    rules: { allowedPrefixes: ['accelerators/'] },
    pools: { allowedPrefixes: ['tier'] },
    pci: { deviceClassWhitelist: ['03'], deviceLabelFields: ['class'] },
    startupGate: {
      ...{ requires: ['accelerators/edgetpu'], maxWaitSeconds: 5 },
      daemonSets: { enabled: true, exclude: ['kube-system/a', 'example.com/tier=b'], onTimeout: 'Stay' },
    },
  });
  expect(await load(['--config=x.yaml'], file)).toMatchObject({
    action: 'run',
    values: {
      rulesAllowedPrefixes: ['accelerators/'],
      poolsAllowedPrefixes: ['tier'],
      pciDeviceClassWhitelist: ['03'],
      pciDeviceLabelFields: ['class'],
      startupGateRequires: ['accelerators/edgetpu'],
      startupGateMaxWaitSeconds: 5,
      startupGateDaemonSets: true,
      startupGateDaemonSetsExclude: ['kube-system/a', 'example.com/tier=b'],
      startupGateDaemonSetsOnTimeout: 'Stay',
      startupGateDaemonSetsTimeout: '10m',
    },
  });
});

test.each([
  ['--startup-gate-daemon-sets-exclude=a/b/c', '--startup-gate-daemon-sets-exclude: must be names of DaemonSets'],
  ['--startup-gate-daemon-sets-namespaces=A', '--startup-gate-daemon-sets-namespaces: '],
  ['--startup-gate-daemon-sets-timeout=600', '--startup-gate-daemon-sets-timeout: must be a duration of 1s to 24h'],
  ['--startup-gate-daemon-sets-timeout=25h', '--startup-gate-daemon-sets-timeout: must be a duration of 1s to 24h'],
  ['--startup-gate-daemon-sets-taints=a b', '--startup-gate-daemon-sets-taints: '],
])('%s is refused', async (flag, problem) => {
  await expect(load(['--startup-gate-daemon-sets', flag])).rejects.toThrow(problem);
});

test.each(['exclude=a', 'namespaces=a', 'taints=a'])(
  'the startup gate has %s only if it waits for DaemonSets',
  async (flag) => {
    await expect(load([`--startup-gate-daemon-sets-${flag}`])).rejects.toThrow('needs --startup-gate-daemon-sets');
  },
);

test('without agents, the services of Gitpod have to be off', async () => {
  await expect(load(['--agents=false'])).rejects.toThrow('--gitpod: must be false with --agents=false');
  expect(await load(['--agents=false', '--gitpod=false'])).toMatchObject({ values: { agents: false } });
});

test('where notifications go is not printed: it may hold a secret', async () => {
  const printed = await load(['--notify-url=https://example.com/hook?token=t', '--print-config']);
  expect(JSON.stringify(printed)).not.toContain('token');
});

test('that notifications go nowhere is printed', async () => {
  const printed = await load(['--print-config']);
  if (printed.action !== 'print') throw new Error('nothing to print');
  expect(JSON.parse(printed.text)).toMatchObject({ notifyUrl: [] });
});

test('what does not go together in the file is named as it stands there', async () => {
  const file = JSON.stringify({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'CoordinatorConfiguration',
    scheduler: { clientCaFile: '/x' },
  });
  await expect(load(['--config=/c'], file)).rejects.toThrow(/^\/c: scheduler\.clientCaFile: needs --scheduler-tls=on$/);
});

test('an own namespace that none can have is refused', async () => {
  const loaded = loadConfig({ argv: [], env: {}, readFile: () => '' }, { ...environment, ownNamespace: 'Rollcall' });
  await expect(loaded).rejects.toThrow(/^POD_NAMESPACE: must be a DNS label/);
});

test('the subcommand of node-labeler may stand before the flags, and nowhere else', async () => {
  expect(await load(['run', '--namespace=a'])).toMatchObject({ action: 'run', values: { namespace: 'a' } });
  expect(await load(['run'])).toMatchObject({ action: 'run' });
  await expect(load(['--evict', 'run'])).rejects.toThrow();
});

test('namespaces default to the own namespace, and the namespace of workspaces to the one of Gitpod', async () => {
  expect(await load(['--namespace=gitpod'])).toMatchObject({
    values: {
      leaseNamespace: 'rollcall',
      poolNamespace: 'rollcall',
      placing: { namespace: 'gitpod' },
      agentServiceAccount: 'system:serviceaccount:rollcall:rollcall-agent',
    },
  });
});

test.each([
  [{ POD_NAME: 'pod', HOSTNAME: 'host', POD_IP: '10.0.0.1' }, 'pod', '10.0.0.1'],
  [{ HOSTNAME: 'host', POD_IP: '' }, 'host', undefined],
  [{ POD_NAME: '', HOSTNAME: '' }, undefined, undefined],
])('the environment %j tells the pod and its address', (env, podName, podIp) => {
  const loaded = loadEnvironment({ env: { POD_NAMESPACE: 'own', ...env }, readFile: () => '' });
  expect(loaded).toEqual({ ownNamespace: 'own', podName, podIp });
});

test.each(['config', 'prune'])('%s is a flag, and no field of the file', async (field) => {
  const file = JSON.stringify({ apiVersion: 'rollcall.dev/v1alpha1', kind: 'CoordinatorConfiguration', [field]: true });
  await expect(load(['--config=/c'], file)).rejects.toThrow(`/c: ${field}: unknown field`);
});
