import { expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import { formatUnion } from './label-selector.ts';
import type { Service } from './services.ts';

const ENVIRONMENT = { ownNamespace: 'rollcall', podName: undefined, podIp: undefined };

async function services(argv: string[] = []): Promise<Service[]> {
  const loaded = await loadConfig({ argv, env: {}, readFile: () => '' }, ENVIRONMENT);
  return loaded.action === 'run' ? loaded.values.watchedServices : [];
}

function gitpods(name: string, port: number, host: 'Pod' | 'Node', namespace = 'default'): Service {
  return {
    name,
    pods: { namespace, selector: { matchLabels: { component: name } } },
    probe: { port, host },
    mode: 'Continuous',
    publish: {
      label: `gitpod.io/${name}_ready_ns_${namespace}`,
      taint: { key: `gitpod.io/${name}-not-ready`, value: 'true', effect: 'NoSchedule' },
    },
    origin: { kind: 'built-in' },
  };
}

test('the services of Gitpod are known without being written', async () => {
  const all = await services();
  expect(all).toEqual([gitpods('ws-daemon', 8080, 'Pod'), gitpods('registry-facade', 31750, 'Node')]);
  expect(formatUnion(all.flatMap(({ pods }) => pods?.selector ?? []))).toBe('component in (ws-daemon,registry-facade)');
});

test('they are as the flags say', async () => {
  expect(await services(['--namespace=prod', '--ws-daemon-port=1', '--registry-facade-port=3'])).toEqual([
    gitpods('ws-daemon', 1, 'Pod', 'prod'),
    gitpods('registry-facade', 3, 'Node', 'prod'),
  ]);
});

test('none is known with --gitpod=false', async () => {
  expect(await services(['--gitpod=false'])).toEqual([]);
});

test('without --require-pod the pods only say where a service is', async () => {
  const [wsDaemon] = await services(['--require-pod=false']);
  expect(wsDaemon?.pods).toMatchObject({ namespace: 'default', optional: true });
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
