import { describe, expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import { componentSelector } from './services.ts';

const HEAD = 'apiVersion: rollcall.dev/v1alpha1\nkind: CoordinatorConfiguration\nservices:\n';
const ENVIRONMENT = { ownNamespace: 'rollcall', podName: undefined, podIp: undefined };

function load(entries: string, argv: string[] = []) {
  return loadConfig({ argv: ['--config=/c', ...argv], env: {}, readFile: () => `${HEAD}${entries}` }, ENVIRONMENT);
}

async function services(entries: string, argv: string[] = []) {
  const loaded = await load(entries, argv);
  return loaded.action === 'run' ? loaded.values.watchedServices : [];
}

const WS_DAEMON = {
  name: 'ws-daemon',
  component: 'ws-daemon',
  label: 'gitpod.io/ws-daemon_ready_ns_default',
  taint: 'gitpod.io/ws-daemon-not-ready',
  port: 8080,
  address: 'pod',
};
const REGISTRY_FACADE = {
  name: 'registry-facade',
  component: 'registry-facade',
  label: 'gitpod.io/registry-facade_ready_ns_default',
  taint: 'gitpod.io/registry-facade-not-ready',
  port: 31750,
  address: 'host',
};

describe('services of the coordinator', () => {
  test('are those of Gitpod when the file names none', async () => {
    expect(await services(' []')).toEqual([WS_DAEMON, REGISTRY_FACADE]);
  });

  test('come after those of Gitpod, with keys in the same grammar', async () => {
    const [, , cache] = await services('- {name: cache, port: 9000}', ['--namespace=prod']);
    expect(cache).toEqual({
      name: 'cache',
      component: 'cache',
      label: 'gitpod.io/cache_ready_ns_prod',
      taint: 'gitpod.io/cache-not-ready',
      port: 9000,
      address: 'pod',
    });
  });

  test('have pods, an address and keys of their own', async () => {
    const own = { component: 'Cache.v2', address: 'host', label: 'example.com/cache', taint: 'example.com/no-cache' };
    expect((await services(`- ${JSON.stringify({ name: 'cache', port: 1, ...own })}`))[2]).toMatchObject(own);
  });

  test('change those of Gitpod', async () => {
    const entries = '- {name: registry-facade, address: pod}\n- {name: ws-daemon, label: example.com/ws}\n';
    expect(await services(entries, ['--ws-daemon-port=1', '--registry-facade-port=3'])).toEqual([
      { ...WS_DAEMON, port: 1, label: 'example.com/ws' },
      { ...REGISTRY_FACADE, port: 3, address: 'pod' },
    ]);
  });

  test('can be printed and read again', async () => {
    const printed = await load('- {name: cache, port: 1}\n- {name: ws-daemon, component: ws}\n', ['--print-config']);
    const text = printed.action === 'print' ? printed.text : '';
    const again = await loadConfig({ argv: ['--config=/c'], env: {}, readFile: () => text }, ENVIRONMENT);
    expect(again.action === 'run' && again.values.watchedServices).toEqual(
      await services('- {name: cache, port: 1}\n- {name: ws-daemon, component: ws}\n'),
    );
  });

  const long = 'a'.repeat(50);
  test.each<[string, RegExp]>([
    ['- {port: 1}', /services\[0\]\.name: is required$/],
    ['- {name: a_b, port: 1}', /services\[0\]\.name: must be a DNS label/],
    ['- {name: cache}', /services\[0\]\.port: is required, as cache has none of its own$/],
    ['- {name: ws-daemon, port: 1}', /services\[0\]\.port: is what --ws-daemon-port is for: leave it out$/],
    ['- {name: a, port: 1}\n- {name: b, prot: 1}', /services\[1\]\.prot: unknown field, did you mean port\?$/],
    ['- {name: a, port: 1}\n- {name: a, port: 2}', /services\[1\]\.name: is that of \[0\] already$/],
    ['- {name: a, port: 1, address: node}', /services\[0\]\.address: must be one of pod, host/],
    ['- {name: a, port: 1, component: ""}', /services\[0\]\.component: must be a label value/],
    ['- {name: a, port: 1, component: "x,y"}', /services\[0\]\.component: must be a label value/],
    ['- {name: a, port: 1, label: "a b"}', /services\[0\]\.label: must be DOMAIN\/NAME/],
    ['- {name: a, port: 1, label: A.com/b}', /services\[0\]\.label: must be DOMAIN\/NAME/],
    ['- {name: a, port: 1, taint: a/b/c}', /services\[0\]\.taint: must be DOMAIN\/NAME/],
    ['- {name: a, port: 1, label: k8s.io/a}', /services\[0\]\.label: must not be in the domain k8s\.io,/],
    [
      '- {name: a, port: 1, label: node.kubernetes.io/a}',
      /services\[0\]\.label: must not be in the domain kubernetes\.io/,
    ],
    ['- {name: a, port: 1, taint: x.k8s.io/a}', /services\[0\]\.taint: must not be in the domain k8s\.io/],
    [`- {name: ${long}, port: 1}`, /services\[0\]\.name: makes the label gitpod.io\/a+_ready_ns_default, .*set label$/],
    [`- {name: ${long}aaaa, port: 1, label: a}`, /services\[0\]\.name: makes the taint .*a-not-ready, .*set taint$/],
    [
      '- {name: a, port: 1}\n- {name: b, port: 1, label: gitpod.io/a_ready_ns_default}',
      /services\[0\]\.label: gitpod\.io\/a_ready_ns_default is that of b already/,
    ],
    [
      '- {name: a, port: 1, taint: gitpod.io/ws-daemon-not-ready}',
      /services\[0\]\.taint: gitpod\.io\/ws-daemon-not-ready is that of ws-daemon already/,
    ],
    [
      '- {name: a, port: 1, label: gitpod.io/workload_workspace_regular}',
      /services\[0\]\.label: gitpod\.io\/workload_workspace_regular says what a node is/,
    ],
    ['- {name: a, port: 1, label: agentpool}', /services\[0\]\.label: agentpool says what a node is/],
  ])('are refused when they are %s', async (entries, message) => {
    await expect(load(entries)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(new RegExp(`^/c: ${message.source}`)),
    });
  });

  test('may have keys in domains that only look like those of Kubernetes', async () => {
    const entries = '- {name: a, port: 1, label: mykubernetes.io/a, taint: k8s.io.example.com/a}';
    expect((await services(entries))[2]).toMatchObject({ label: 'mykubernetes.io/a' });
  });
});

test('componentSelector names every component once', async () => {
  const all = await services('- {name: cache, port: 1}\n- {name: ws-daemon-api, component: ws-daemon, port: 2}');
  expect(componentSelector(all)).toBe('component in (ws-daemon,registry-facade,cache)');
});
