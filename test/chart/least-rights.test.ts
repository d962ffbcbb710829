import { beforeAll, describe, expect, test } from 'vitest';
import { type Account, GRANTS, type Grant, resourceOf } from '../../deploy/source/manifests/accounts.ts';
import type { KubeObject } from '../control-plane/api-client.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { EVERYTHING, find, renderObjects, type Values, workloads } from './render.ts';

type Rule = { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] };
type Binding = KubeObject & {
  subjects: { kind: string; name: string; namespace: string }[];
  roleRef: { name: string };
};

let helm: Helm;
let renderings: [string, KubeObject[]][];

beforeAll(async () => {
  helm = await ensureHelm();
  renderings = [
    ['the defaults', await renderObjects(helm)],
    ['everything', await renderObjects(helm, {}, ['--values', EVERYTHING])],
  ];
}, 600_000);

const right = (grant: Grant) =>
  `${grant.group} ${[resourceOf(grant), ...(grant.name === undefined ? [] : [grant.name])].join('/')} ${grant.verbs}`;
/** What the description of the accounts grants: in the whole cluster, or by name in their own namespace. */
const granted = (account: Account, isByName: boolean) =>
  GRANTS.filter(({ accounts, name }) => accounts.includes(account) && (name !== undefined) === isByName);
/** Without what the defaults do not have, or have in single namespaces. */
const IN_CLUSTER = granted('coordinator', false)
  .filter(({ where, when = '' }) => where === undefined && !/a rule|evict|startupGate/.test(when))
  .map(right)
  .toSorted();
const IN_NAMESPACE = granted('coordinator', true).map(right);
const [LEASE = ''] = IN_NAMESPACE;
const DEPLOYMENT = 'apps deployments/rollcall-coordinator get';

function rightsOf(objects: readonly KubeObject[], kind: string, name: string): string[] {
  const { rules } = find<KubeObject & { rules: Rule[] }>(objects, kind, name);
  return rules.map(({ apiGroups, resources, verbs, resourceNames }) =>
    [apiGroups, [...resources, ...(resourceNames ?? [])].join('/'), verbs].map(String).join(' '),
  );
}

const EVENTS = ' events create,patch';
/** What each Role of the coordinator in single namespaces grants. */
const OF_ROLE = {
  pods: [' pods list,watch'],
  workspaces: ['workspace.gitpod.io workspaces list,watch'],
  pools: ['rollcall.dev nodepoollabels', 'labels.banzaicloud.io nodepoollabelsets'].flatMap((each) => [
    `${each} list,watch`,
    `${each}/status patch`,
  ]),
  events: [EVENTS],
};

/** Namespaces with the Role of this name for the coordinator, which grants what it should, and has a binding. */
function namespacesOf(role: keyof typeof OF_ROLE, objects: readonly KubeObject[]): string[] {
  const name = `rollcall-coordinator-${role}`;
  const found = (kind: string) => objects.filter((object) => object.kind === kind && object.metadata.name === name);
  const namespaces = (kind: string) => found(kind).map(({ metadata }) => metadata.namespace ?? '');
  for (const each of found('Role')) expect(rightsOf([each], 'Role', name)).toEqual(OF_ROLE[role]);
  expect(namespaces('RoleBinding')).toEqual(namespaces('Role'));
  return namespaces('Role');
}

const namespacesOfPods = (objects: readonly KubeObject[]) => namespacesOf('pods', objects);

/** Rights in the whole cluster that not every installation has. */
function more(objects: readonly KubeObject[]): string[] {
  return rightsOf(objects, 'ClusterRole', 'rollcall-coordinator').filter((each) => !IN_CLUSTER.includes(each));
}

describe('rights', () => {
  test('of the coordinator are these and no others', async () => {
    const objects = await renderObjects(helm);
    expect(rightsOf(objects, 'ClusterRole', 'rollcall-coordinator').toSorted()).toEqual(IN_CLUSTER);
    expect(rightsOf(objects, 'Role', 'rollcall-coordinator')).toEqual(IN_NAMESPACE);
    const places = Object.keys(OF_ROLE).map((role) => [role, namespacesOf(role as keyof typeof OF_ROLE, objects)]);
    expect(Object.fromEntries(places)).toEqual({
      pods: ['rollcall'],
      workspaces: [],
      pools: ['rollcall'],
      events: ['default', 'rollcall'],
    });
  });

  test('to watch Workspaces and the labels of pools are for the one namespace of each', async () => {
    const config = { poolNamespace: 'pools' };
    const objects = await renderObjects(helm, {
      gitpod: { enabled: true, namespace: 'gitpod' },
      coordinator: { config },
    });
    expect(namespacesOf('workspaces', objects)).toEqual(['gitpod']);
    expect(namespacesOf('pools', objects)).toEqual(['pools']);
    expect(namespacesOfPods(objects)).toEqual(['gitpod', 'rollcall']);
    expect(more(objects)).toEqual([]);
  });

  const SLICES = 'resource.k8s.io resourceslices list,watch';
  const FEATURES = 'nfd.k8s-sigs.io nodefeatures list,watch';
  const dra = { name: 'gpu', dra: { driver: 'gpu.example.com' } };
  test.each<[string, Values, string[]]>([
    ['a rule', { rules: { files: { 'example.com': { gpu: 'a && !dra:gpu.example.com >= 1' } } } }, [SLICES]],
    ['another rule', { rules: { files: { 'example.com': { gpu: 'nfd:local.feature.gpu' } } } }, [FEATURES]],
    ['a check', { services: { gpu: { checks: [dra] } } }, [SLICES]],
    ['a check of several', { services: { gpu: { checks: [{ name: 'any', anyOf: [dra] }] } } }, [SLICES]],
    ['the values', { watchResources: ['nodefeatures', 'resourceslices'] }, [SLICES, FEATURES]],
    [
      'the startup gate',
      { startupGate: { daemonSets: { enabled: true } } },
      ['apps daemonsets list,watch', ' pods list,watch'],
    ],
    ['no rule', { rules: { files: { 'example.com': { gpu: 'resource:a' } } } }, []],
  ])('to watch what %s asks for come with it', async (_, values, expected) => {
    expect(more(await renderObjects(helm, values))).toEqual(expected);
  });

  test('to watch pods are for the namespaces in the values, each once', async () => {
    const pods = (namespace: string) => ({ pods: { namespace, selector: { matchLabels: { app: 'a' } } } });
    const checking = (check: object) => ({ checks: [{ name: 'check', ...check }] });
    const contained = { name: 'contained', ...pods('gitpod') };
    const values = {
      gitpod: { enabled: true, namespace: 'gitpod' },
      services: {
        a: checking(pods('drivers')),
        b: checking({ anyOf: [contained] }),
        c: checking({ tcp: { port: 1 } }),
        d: checking({ condition: { type: 'A', reporter: { ...pods('monitors').pods } } }),
      },
      holds: { d: pods('ci') },
      watchNamespaces: ['drivers', 'later'],
    };
    const namespaces = ['ci', 'drivers', 'gitpod', 'later', 'monitors', 'rollcall'];
    expect(namespacesOfPods(await renderObjects(helm, values))).toEqual(namespaces);
    const config = { schedulerPodSelector: 'app=build', schedulerNamespace: 'builds' };
    const scheduler = { enabled: true, clientCaConfigMapName: 'schedulers' };
    const placing = { ...values, scheduler, coordinator: { config } };
    expect(namespacesOfPods(await renderObjects(helm, placing))).toEqual(['builds', ...namespaces]);
    const without = await renderObjects(helm, { ...values, gitpod: { enabled: false, namespace: 'elsewhere' } });
    expect(namespacesOfPods(without)).toEqual(namespaces);
    expect(namespacesOf('workspaces', without)).toEqual([]);
  });

  test('to watch pods are for the whole cluster where it is told so', async () => {
    const objects = await renderObjects(helm, { watchNamespaces: ['*', 'later'] });
    expect(namespacesOfPods(objects)).toEqual([]);
    expect(more(objects)).toEqual([' pods list,watch']);
  });

  test('to evict come with the option, those to keep certificates go where they are given', async () => {
    const [, everything] = renderings[1] ?? ['', []];
    expect(more(everything)).toEqual([
      'apps daemonsets list,watch',
      ' pods list,watch',
      ' pods/eviction create',
      EVENTS,
    ]);
    expect([...namespacesOfPods(everything), ...namespacesOf('events', everything)]).toEqual([]);
    const lease = LEASE.replace('rollcall-coordinator', 'my-lease');
    expect(rightsOf(everything, 'Role', 'rollcall-coordinator')).toEqual([lease]);
    expect(rightsOf(everything, 'Role', 'rollcall-uninstall')).toEqual([lease, DEPLOYMENT]);
  });

  test('of the one who prunes are about Nodes and the Lease, and to see whether coordinators run', async () => {
    const objects = await renderObjects(helm);
    expect(rightsOf(objects, 'ClusterRole', 'rollcall-uninstall')).toEqual(granted('uninstall', false).map(right));
    expect(rightsOf(objects, 'Role', 'rollcall-uninstall')).toEqual(granted('uninstall', true).map(right));
  });

  test('to the status of Nodes go where no conditions are published, and the fence shuts it', async () => {
    const objects = await renderObjects(helm, { coordinator: { config: { servicesConditions: false } } });
    for (const name of ['rollcall-coordinator', 'rollcall-uninstall']) {
      expect(rightsOf(objects, 'ClusterRole', name).join()).not.toContain('nodes/status');
    }
    const fence = find(objects, 'ValidatingAdmissionPolicy', 'rollcall-fence') as KubeObject & {
      spec: { variables: { name: string; expression: string }[] };
    };
    expect(fence.spec.variables).toContainEqual({ name: 'mayChangeConditions', expression: 'false' });
  });

  test('never go to agents, and to no account but these two', () => {
    for (const [, objects] of renderings) {
      const bindings = objects.filter(({ kind }) => kind?.endsWith('RoleBinding')) as Binding[];
      expect(bindings.length).toBeGreaterThanOrEqual(4);
      for (const { subjects, roleRef } of bindings) {
        const name = roleRef.name.replace(/^(rollcall-coordinator)-.*/, '$1');
        expect(subjects).toEqual([{ kind: 'ServiceAccount', name, namespace: 'rollcall' }]);
        expect(['rollcall-coordinator', 'rollcall-uninstall']).toContain(name);
      }
      for (const { template } of workloads(objects).filter(({ kind }) => kind === 'DaemonSet')) {
        expect(template.spec).toMatchObject({
          serviceAccountName: 'rollcall-agent',
          automountServiceAccountToken: false,
        });
        const tokens = JSON.stringify(template.spec.volumes).match(/"audience":"[^"]*"/g);
        expect(tokens).toEqual(['"audience":"rollcall-coordinator"']);
      }
    }
  });

  test('have no wildcard', () => {
    for (const [, objects] of renderings) {
      const roles = objects.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');
      expect(roles.length).toBeGreaterThanOrEqual(4);
      expect(JSON.stringify(roles)).not.toContain('"*"');
    }
  });
});

describe('every container', () => {
  test('has limits, and probes where it stays', () => {
    for (const [, objects] of renderings) {
      const found = workloads(objects);
      expect(found.map(({ kind }) => kind).toSorted()).toEqual(['DaemonSet', 'Deployment', 'Job']);
      for (const { name, template } of found) {
        for (const container of template.spec.containers) {
          expect(container.resources.limits).toMatchObject({ cpu: expect.anything(), memory: expect.anything() });
          const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].filter((probe) => probe in container);
          expect(probes).toHaveLength(name === 'rollcall-uninstall' ? 0 : 3);
        }
      }
    }
  });

  test('cannot write anywhere, cannot gain rights, and runs without root', () => {
    for (const [, objects] of renderings) {
      for (const { template } of workloads(objects)) {
        // Sockets of others are for root alone.
        const isRoot = JSON.stringify(template.spec).includes('--probe-paths=');
        expect(template.spec['securityContext']).toMatchObject({
          ...(isRoot ? { runAsUser: 0 } : { runAsNonRoot: true }),
          seccompProfile: { type: 'RuntimeDefault' },
        });
        for (const { securityContext } of template.spec.containers) {
          expect(securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
        }
      }
    }
  });

  test('may be left without a user of its own, for clusters that choose one', async () => {
    const objects = await renderObjects(helm, { runAsUser: null });
    for (const { template } of workloads(objects)) {
      expect(template.spec['securityContext']).toEqual({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
    }
  });
});

describe('an agent', () => {
  test('is replaced after the new one is ready, unless they would share a port', async () => {
    const update = async (values: object) => {
      const daemonSet = find(await renderObjects(helm, { agent: values }), 'DaemonSet', 'rollcall-agent');
      return (daemonSet['spec'] as { updateStrategy: { rollingUpdate: object } }).updateStrategy.rollingUpdate;
    };
    expect(await update({})).toEqual({ maxSurge: '10%', maxUnavailable: 0 });
    expect(await update({ hostNetwork: true })).toEqual({ maxSurge: 0, maxUnavailable: 1 });
    const many = { rollingUpdate: { maxSurge: 0, maxUnavailable: '10%' } };
    expect(await update(many)).toEqual({ maxSurge: 0, maxUnavailable: '10%' });
  });

  test('sees of the host nothing by default, and only what is asked for', async () => {
    const hostPaths = async (values: Values) =>
      JSON.stringify(await renderObjects(helm, values)).match(/"hostPath":{[^}]*}/g);
    expect(await hostPaths({})).toBeNull();
    expect(await hostPaths({ agent: { deviceTree: true } })).toEqual(['"hostPath":{"path":"/sys","type":"Directory"}']);
    const features = '"hostPath":{"path":"/etc/features.d","type":"DirectoryOrCreate"}';
    expect(await hostPaths({ agent: { featuresDir: '/etc/features.d' } })).toEqual([features]);
  });
});
