import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import { expect, test } from 'vitest';
import { gone, resultOf, workload } from './evidence.test-fixtures.ts';
import type { Evidence, Right } from './evidence.ts';
import { coordinatorRights } from './rights-checks.ts';

const words = ({ verb, group, resource, subresource, name, namespace }: Right) =>
  [verb, `${resource}${subresource ? `/${subresource}` : ''}.${group}`, name, namespace].filter(Boolean).join(' ');

/** The rights that are asked about. */
async function rights(change: Partial<Evidence>): Promise<string[]> {
  const asked: string[] = [];
  const may = async (right: Right, user?: string) => {
    expect(user).toBe('system:serviceaccount:rollcall:rollcall-coordinator');
    asked.push(words(right));
    return { value: true };
  };
  await resultOf(coordinatorRights, { ...change, may });
  return asked;
}

const config = (settings: Record<string, unknown>): Partial<Evidence> => ({ config: { value: settings } });
const crds = (...value: string[]): Partial<Evidence> => ({ crds: { value } });

/** To watch what every cluster has, pods apart. */
const WITHOUT_CRDS = Object.values<WatchedResource>(WATCHED)
  .filter(({ unlisted, role, term, when }) => unlisted !== 'empty' && !role && !term && when !== 'gate')
  .flatMap(({ verbs, resource, group }) => verbs.map((verb) => `${verb} ${resource}.${group}`));

test('the coordinator needs few rights where nothing else is installed', async () => {
  expect(await rights({ config: gone, crds: gone, nodeServices: gone })).toEqual([
    ...WITHOUT_CRDS,
    'create events. default',
    'patch events. default',
    'create events. rollcall',
    'patch events. rollcall',
    'create tokenreviews.authentication.k8s.io',
    ...['get', 'list', 'watch', 'update', 'create', 'patch'].map(
      (verb) => `${verb} leases.coordination.k8s.io rollcall-coordinator rollcall`,
    ),
    ...['get', 'list', 'watch', 'update'].map((verb) => `${verb} secrets. rollcall-coordinator-tls rollcall`),
    ...['get', 'list', 'watch', 'update'].map((verb) => `${verb} configmaps. rollcall-coordinator-ca rollcall`),
    'list pods. rollcall',
    'watch pods. rollcall',
    'list pods. default',
    'watch pods. default',
  ]);
});

test('it needs the Lease that is configured', async () => {
  expect(await rights(config({ leaseName: 'mine' }))).toContain('get leases.coordination.k8s.io mine rollcall');
});

test('it keeps no certificate where another program does', async () => {
  const asked = await rights(config({ tlsCertFile: '/tls.crt' }));
  expect(asked.filter((each) => /secrets|configmaps/.test(each))).toEqual([]);
});

test('it keeps a certificate without agents, too, where the scheduler extender uses it', async () => {
  const certificates = async (more: object) =>
    (await rights(config({ agents: false, ...more }))).filter((each) => /secrets|configmaps/.test(each));
  expect(await certificates({})).toEqual([]);
  expect(await certificates({ schedulerTls: 'on' })).toHaveLength(8);
});

test('it evicts pods only where that is configured', async () => {
  expect(await rights(config({ evict: true }))).toContain('create pods/eviction.');
  expect(await rights(config({ evict: false }))).not.toContain('create pods/eviction.');
});

test('it writes the conditions of nodes for NodeServices, unless that is off', async () => {
  const services = crds('nodeservices.rollcall.dev');
  expect(await rights(services)).toContain('patch nodes/status.');
  expect(await rights({ ...services, ...config({ servicesConditions: false }) })).not.toContain('patch nodes/status.');
  expect(await rights(crds())).not.toContain('patch nodes/status.');
});

/** A coordinator with rules in these ConfigMaps, of which the first is mounted. */
function withRules(...rules: string[]): Partial<Evidence> {
  const configMaps = rules.map((text, index) => ({ metadata: { name: `rules-${index}` }, data: { gpu: text } }));
  const { metadata } = workload('rollcall-coordinator');
  const spec = { template: { spec: { volumes: [{}, { configMap: { name: 'rules-0' } }] } } };
  return { configMaps: { value: configMaps }, coordinator: { value: { metadata, spec } } };
}

test('it watches NodeFeatures and ResourceSlices where rules ask for them, as far as they are served', async () => {
  const asked = async (change: Partial<Evidence>) =>
    (await rights({ ...crds('nodefeatures.nfd.k8s-sigs.io'), ...change })).filter((each) => /nodef|slices/.test(each));
  expect(await asked({})).toEqual([]);
  expect(await asked(withRules('nfd:local.feature.a\n', 'dra:b >= 1'))).toEqual([
    'list nodefeatures.nfd.k8s-sigs.io',
    'watch nodefeatures.nfd.k8s-sigs.io',
  ]);
  expect(await asked(withRules('!dra:b && nfd:c'))).toHaveLength(4);
  expect(await asked({ ...withRules('nfd:c'), crds: gone })).toEqual([]);
});

test.each([
  [[{ dra: { driver: 'gpu' } }], 2],
  [[{ anyOf: [{}, { dra: { driver: 'gpu' } }] }], 2],
  [[{ pods: { namespace: 'rollcall' } }], 0],
])('it watches ResourceSlices where a NodeService asks for them: %j', async (checks, count) => {
  const asked = await rights({ nodeServices: { value: [{ metadata: { name: 'a' }, spec: { checks } }] } });
  expect(asked.filter((each) => each.includes('resourceslices.resource.k8s.io'))).toHaveLength(count);
});

test('what rules ask for and the coordinator may not watch is named with the value of the chart', async () => {
  const may = async ({ resource }: Right) => ({ value: resource !== 'resourceslices' });
  expect(await resultOf(coordinatorRights, { ...withRules('dra:gpu'), may })).toEqual([
    "fail: The coordinator's account may not list resourceslices.resource.k8s.io and watch resourceslices.resource.k8s.io, for which rules or NodeServices ask",
    'add the resources to watchResources and run helm upgrade',
  ]);
});

test.each([
  ['nodeservices.rollcall.dev', ''],
  ['nodeholds.rollcall.dev', ''],
  ['nodepoollabels.rollcall.dev', ' pools'],
  ['nodepoollabelsets.labels.banzaicloud.io', ' pools'],
])('it watches %s where they are installed, and writes their status', async (name, place) => {
  const [, resource, group] = /^([a-z]+)\.(.+)$/.exec(name) ?? [];
  const asked = await rights({ ...crds(name), ...config({ poolNamespace: 'pools' }) });
  expect(asked.filter((each) => each.includes(`${resource}.${group}`))).toEqual([
    `list ${resource}.${group}${place}`,
    `watch ${resource}.${group}${place}`,
  ]);
  expect(asked).toContain(`patch ${resource}/status.${group}${place}`);
});

test('it watches the labels of pools in its own namespace, where no other is configured', async () => {
  expect(await rights({ ...crds('nodepoollabels.rollcall.dev'), config: gone })).toContain(
    'list nodepoollabels.rollcall.dev rollcall',
  );
});

test('it watches the workspaces of Gitpod, where there is Gitpod', async () => {
  const workspaces = crds('workspaces.workspace.gitpod.io');
  expect(await rights({ ...workspaces, ...config({}) })).toContain('watch workspaces.workspace.gitpod.io default');
  const elsewhere = await rights({ ...workspaces, ...config({ namespace: 'gitpod' }) });
  expect(elsewhere).toContain('watch workspaces.workspace.gitpod.io gitpod');
  const without = await rights({ ...workspaces, ...config({ gitpod: false }) });
  expect(without.filter((each) => /workspaces|pods\. default/.test(each))).toEqual([]);
});

test('it watches pods in the namespace of Gitpod, and in the namespaces of NodeServices, each once', async () => {
  const nodeServices = {
    value: ['drivers', 'drivers', 'gitpod'].map((namespace) => ({
      metadata: { name: 'a' },
      spec: {
        checks: [
          { pods: { namespace } },
          { anyOf: [{ pods: { namespace: 'plugins' } }, {}] },
          { condition: { reporter: { namespace: 'monitors' } } },
        ],
      },
    })),
  };
  const asked = await rights({ ...config({ namespace: 'gitpod' }), nodeServices });
  expect(asked.filter((each) => each.startsWith('watch pods.'))).toEqual([
    'watch pods. rollcall',
    'watch pods. gitpod',
    'watch pods. drivers',
    'watch pods. plugins',
    'watch pods. monitors',
  ]);
});

test('rights that are missing are named, those on pods apart', async () => {
  expect(await resultOf(coordinatorRights, { config: gone, crds: gone, may: async () => ({ value: false }) })).toEqual([
    expect.stringMatching(
      /^fail: The coordinator's account may not get nodes, list nodes, watch nodes, patch nodes, list csinodes\.storage\.k8s\.io, .* and \d+ more$/,
    ),
    'install its ClusterRole and Role again: helm upgrade, or kubectl apply -f deploy/manifests/install.yaml',
    "fail: The coordinator's account may not list pods in rollcall, watch pods in rollcall, list pods in default and watch pods in default, where pods of services are",
    'add the namespaces to watchNamespaces and run helm upgrade',
  ]);
});

test('a right on an object is named with the object', async () => {
  const may = async ({ resource }: Right) => ({ value: resource !== 'leases' });
  expect((await resultOf(coordinatorRights, { may }))[0]).toContain(
    'get leases.coordination.k8s.io "rollcall-coordinator" in rollcall, ',
  );
});

test.each<[string, (right: Right) => boolean, string]>([
  ['right', ({ resource }) => resource === 'tokenreviews', 'create tokenreviews.authentication.k8s.io'],
  [
    'right on pods',
    ({ resource, verb, namespace }) => resource === 'pods' && verb === 'watch' && namespace === 'default',
    'watch pods in default, where pods of services are',
  ],
])('one %s that is missing is enough', async (_what, isMissing, words) => {
  const may = async (right: Right) => ({ value: !isMissing(right) });
  expect((await resultOf(coordinatorRights, { may }))[0]).toBe(`fail: The coordinator's account may not ${words}`);
});

test('rights that are there are counted', async () => {
  const { length } = await rights({ config: gone, crds: gone });
  expect(await resultOf(coordinatorRights, { config: gone, crds: gone })).toBe(
    `the coordinator's account has the ${length} rights that it needs`,
  );
});

test('it needs to watch DaemonSets, and pods everywhere, where the startup gate waits for them', async () => {
  const asked = await rights(config({ startupGateDaemonSets: true, gitpod: false }));
  expect(asked).toEqual(
    expect.arrayContaining(['list daemonsets.apps', 'watch daemonsets.apps', 'list pods.', 'watch pods.']),
  );
  expect(asked.filter((each) => each.includes('pods. rollcall'))).toEqual([]);
});

test('without agents, it needs neither TokenReviews nor the objects of the certificate', async () => {
  const asked = await rights(config({ agents: false, gitpod: false }));
  expect(asked.filter((each) => /tokenreviews|secrets|configmaps|pods/.test(each))).toEqual([]);
});
