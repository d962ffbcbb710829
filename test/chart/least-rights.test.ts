import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import { beforeAll, describe, expect, test } from 'vitest';
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

const OWN = ['get', 'list', 'watch', 'create', 'update', 'patch'];
const IN_CLUSTER = [
  ...Object.values<WatchedResource>(WATCHED)
    .filter(({ byNamespace }) => !byNamespace)
    .flatMap(({ group, resource, verbs, hasStatus }) => [
      `${group} ${resource} ${verbs}`,
      ...(hasStatus ? [`${group} ${resource}/status patch`] : []),
    ]),
  ' nodes/status patch',
  ' events create,patch',
  'authentication.k8s.io tokenreviews create',
];
const LEASE = `coordination.k8s.io leases/rollcall-coordinator ${OWN}`;
const IN_NAMESPACE = [LEASE, ` secrets/rollcall-coordinator-tls ${OWN}`, ` configmaps/rollcall-coordinator-ca ${OWN}`];

function rightsOf(objects: readonly KubeObject[], kind: string, name: string): string[] {
  const { rules } = find<KubeObject & { rules: Rule[] }>(objects, kind, name);
  return rules.map(({ apiGroups, resources, verbs, resourceNames }) =>
    [apiGroups, [...resources, ...(resourceNames ?? [])].join('/'), verbs].map(String).join(' '),
  );
}

/** Where the coordinator may watch pods, and nothing else, by a Role of its own with a binding. */
function namespacesOfPods(objects: readonly KubeObject[]): string[] {
  const name = 'rollcall-coordinator-pods';
  const found = (kind: string) =>
    objects
      .filter((object) => object.kind === kind && object.metadata.name === name)
      .map(({ metadata }) => metadata.namespace ?? '');
  const roles = objects.filter((object) => object.kind === 'Role' && object.metadata.name === name);
  for (const role of roles) expect(rightsOf([role], 'Role', name)).toEqual([' pods list,watch']);
  expect(found('RoleBinding')).toEqual(found('Role'));
  return found('Role');
}

describe('rights', () => {
  test('of the coordinator are these and no others', async () => {
    const objects = await renderObjects(helm);
    expect(rightsOf(objects, 'ClusterRole', 'rollcall-coordinator')).toEqual(IN_CLUSTER);
    expect(rightsOf(objects, 'Role', 'rollcall-coordinator')).toEqual(IN_NAMESPACE);
    expect(namespacesOfPods(objects)).toEqual(['default', 'rollcall']);
  });

  test('to watch pods are for the namespaces in the values, each once', async () => {
    const pods = (namespace: string) => ({ pods: { namespace, selector: { matchLabels: { app: 'a' } } } });
    const checking = (check: object) => ({ checks: [{ name: 'check', ...check }] });
    const contained = { name: 'contained', ...pods('gitpod') };
    const values = {
      gitpod: { namespace: 'gitpod' },
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
    const rights = rightsOf(without, 'ClusterRole', 'rollcall-coordinator');
    expect(IN_CLUSTER.filter((each) => !rights.includes(each))).toEqual(['workspace.gitpod.io workspaces list,watch']);
  });

  test('to watch pods are for the whole cluster where it is told so', async () => {
    const objects = await renderObjects(helm, { watchNamespaces: ['*', 'later'] });
    expect(namespacesOfPods(objects)).toEqual([]);
    const more = rightsOf(objects, 'ClusterRole', 'rollcall-coordinator').filter((each) => !IN_CLUSTER.includes(each));
    expect(more).toEqual([' pods list,watch']);
  });

  test('to evict come with the option, those to keep certificates go where they are given', async () => {
    const [, everything] = renderings[1] ?? ['', []];
    const more = rightsOf(everything, 'ClusterRole', 'rollcall-coordinator').filter(
      (each) => !IN_CLUSTER.includes(each),
    );
    expect(more).toEqual([' pods list,watch', ' pods/eviction create']);
    expect(namespacesOfPods(everything)).toEqual([]);
    const lease = LEASE.replace('rollcall-coordinator', 'my-lease');
    expect(rightsOf(everything, 'Role', 'rollcall-coordinator')).toEqual([lease]);
    expect(rightsOf(everything, 'Role', 'rollcall-uninstall')).toEqual([lease]);
  });

  test('of the one who prunes are about Nodes, the Lease, and giving them up', async () => {
    const objects = await renderObjects(helm);
    expect(rightsOf(objects, 'ClusterRole', 'rollcall-uninstall')).toEqual([
      ' nodes get,list,watch,patch',
      ' nodes/status patch',
      'rbac.authorization.k8s.io clusterroles/rollcall-uninstall patch',
    ]);
    expect(rightsOf(objects, 'Role', 'rollcall-uninstall')).toEqual([LEASE]);
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
        const name = roleRef.name.replace(/-pods$/, '');
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
      for (const { kind, template } of found) {
        for (const container of template.spec.containers) {
          expect(container.resources.limits).toMatchObject({ cpu: expect.anything(), memory: expect.anything() });
          const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].filter((probe) => probe in container);
          expect(probes).toHaveLength(kind === 'Job' ? 0 : 3);
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
