import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import { expect, test } from 'vitest';
import { gone, resultOf } from './evidence.test-fixtures.ts';
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
  .filter(({ unlisted, byNamespace }) => unlisted !== 'empty' && !byNamespace)
  .flatMap(({ verbs, resource, group }) => verbs.map((verb) => `${verb} ${resource}.${group}`));

test('the coordinator needs few rights where nothing else is installed', async () => {
  expect(await rights({ config: gone, crds: gone, nodeServices: gone })).toEqual([
    ...WITHOUT_CRDS,
    'create events. default',
    'patch events. default',
    'create tokenreviews.authentication.k8s.io',
    ...['get', 'list', 'watch', 'create', 'patch'].map(
      (verb) => `${verb} leases.coordination.k8s.io rollcall-coordinator rollcall`,
    ),
    ...['get', 'list', 'watch', 'create', 'patch'].map((verb) => `${verb} secrets. rollcall-coordinator-tls rollcall`),
    ...['get', 'list', 'watch', 'create', 'patch'].map(
      (verb) => `${verb} configmaps. rollcall-coordinator-ca rollcall`,
    ),
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

test('it watches NodeFeatures where they are installed', async () => {
  expect(await rights(crds('nodefeatures.nfd.k8s-sigs.io'))).toContain('watch nodefeatures.nfd.k8s-sigs.io');
});

test.each([
  'nodeservices.rollcall.dev',
  'nodeholds.rollcall.dev',
  'nodepoollabels.rollcall.dev',
  'nodepoollabelsets.labels.banzaicloud.io',
])('it watches %s where they are installed, and writes their status', async (name) => {
  const [, resource, group] = /^([a-z]+)\.(.+)$/.exec(name) ?? [];
  const asked = await rights(crds(name));
  expect(asked.filter((each) => each.includes(`${resource}.${group}`))).toEqual([
    `list ${resource}.${group}`,
    `watch ${resource}.${group}`,
  ]);
  expect(asked).toContain(`patch ${resource}/status.${group}`);
});

test('it watches the workspaces of Gitpod, where there is Gitpod', async () => {
  const workspaces = crds('workspaces.workspace.gitpod.io');
  expect(await rights(workspaces)).toContain('watch workspaces.workspace.gitpod.io');
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
