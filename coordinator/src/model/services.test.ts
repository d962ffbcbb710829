import { expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import { formatUnion } from './label-selector.ts';
import { podsCheck, probeCheck } from './services.test-fixtures.ts';
import { podsChecksOf, type ReadinessGate, type Service, type ServiceProbe } from './services.ts';

const ENVIRONMENT = { ownNamespace: 'rollcall', podName: undefined, podIp: undefined };

async function services(argv: string[] = []): Promise<Service[]> {
  const loaded = await loadConfig({ argv, env: {}, readFile: () => '' }, ENVIRONMENT);
  return loaded.action === 'run' ? loaded.values.watchedServices : [];
}

type Settings = { namespace?: string; gate?: ReadinessGate };

function gitpods(name: string, probe: ServiceProbe, settings: Settings = {}): Service {
  const { namespace = 'default', gate = 'label' } = settings;
  return {
    name,
    checks: [
      { ...podsCheck({ namespace, selector: { matchLabels: { component: name } } }), id: `${name}/pod` },
      probeCheck(name, probe),
    ],
    mode: 'Continuous',
    publish: {
      label: `gitpod.io/${name}_ready_ns_${namespace}`,
      taint: { key: `gitpod.io/${name}-not-ready`, value: 'true', effect: 'NoSchedule' },
    },
    origin: {
      kind: 'built-in',
      gate,
      taintedNodes: ['gitpod.io/workload_workspace_regular', 'gitpod.io/workload_workspace_headless'],
    },
  };
}

const HTTPS = {
  kind: 'https',
  path: '/v2/remote/not-a-valid-image/manifests/latest',
  headers: { accept: 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json' },
  expectedStatuses: ['404'],
};

test('the services of Gitpod are known without being written', async () => {
  const all = await services();
  expect(all).toEqual([
    gitpods('ws-daemon', { spec: { kind: 'tcp' }, port: 8080, host: 'Pod' }),
    gitpods('registry-facade', { spec: HTTPS, port: 31750, host: 'Node' }),
  ]);
  expect(formatUnion(all.flatMap(podsChecksOf).map(({ settings }) => settings.selector))).toBe(
    'component in (ws-daemon,registry-facade)',
  );
});

test('they are as the flags say', async () => {
  const flags = ['--namespace=prod', '--ws-daemon-port=1', '--registry-facade-port=3', '--readiness-gate=taint'];
  const settings = { namespace: 'prod', gate: 'taint' } as const;
  for (const kind of ['tcp', 'tls', 'http2']) {
    expect(await services([...flags, `--ws-daemon-probe=${kind}`])).toEqual([
      gitpods('ws-daemon', { spec: { kind }, port: 1, host: 'Pod' }, settings),
      gitpods('registry-facade', { spec: HTTPS, port: 3, host: 'Node' }, settings),
    ]);
  }
  await expect(services(['--ws-daemon-probe=icmp'])).rejects.toThrow(/^--ws-daemon-probe: .*tcp, tls, http2/);
});

test('none is known with --gitpod=false', async () => {
  expect(await services(['--gitpod=false'])).toEqual([]);
});

test('without --require-pod the pods only say where a service is', async () => {
  const [wsDaemon] = await services(['--require-pod=false']);
  expect(wsDaemon?.checks[0]).toMatchObject({ kind: 'pods', settings: { namespace: 'default', optional: true } });
});

test('a list of services in the file is refused, with what is there instead', async () => {
  const file = (services: string) =>
    `apiVersion: rollcall.dev/v1alpha1\nkind: CoordinatorConfiguration\nservices: ${services}\n`;
  const load = (text: string) =>
    loadConfig({ argv: ['--config=/c'], env: {}, readFile: () => file(text) }, ENVIRONMENT);
  await expect(load('[{name: cache, port: 1}]')).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/^\/c: services: is no longer a list: create a NodeService/),
  });
  const loaded = await load('{allowedPrefixes: [example.com/]}');
  expect(loaded.action === 'run' && loaded.values.servicesAllowedPrefixes).toEqual(['example.com/']);
});
