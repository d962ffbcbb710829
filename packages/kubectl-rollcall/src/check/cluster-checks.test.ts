import { describe, expect, test } from 'vitest';
import {
  admissionPolicies,
  apiServerVersion,
  clusterAutoscaler,
  karpenter,
  nodeReadinessRules,
  nodesThere,
  otherLabelers,
  poolsAgree,
  rightsToInstall,
} from './cluster-checks.ts';
import { forbidden, gone, resultOf, workload } from './evidence.test-fixtures.ts';
import type { Evidence, Right } from './evidence.ts';
import type { NodeObject, Workload } from './objects.ts';

const WS_DAEMON = 'gitpod.io/ws-daemon-not-ready';
const FACADE = 'gitpod.io/registry-facade-not-ready';
const gate = (readinessGate: string, gitpod?: boolean): Partial<Evidence> => ({
  config: { value: { readinessGate, ...(gitpod === undefined ? {} : { gitpod }) } },
});
const services = (...keys: string[]): Partial<Evidence> => ({
  nodeServices: {
    value: keys.map((key) => ({
      metadata: { name: key },
      spec: { publish: { taint: { key, effect: 'NoSchedule' } } },
    })),
  },
});

describe('the API server', () => {
  const of = (minor: string) =>
    resultOf(apiServerVersion, { version: { value: { gitVersion: `v1.${minor}`, major: '1', minor } } });

  test('of 1.34 or newer is supported', async () => {
    expect(await of('34+')).toBe('API server v1.34+: rollcall supports it');
    expect(await of('33')).toEqual([
      'fail: API server v1.33: rollcall requires Kubernetes 1.34 or newer, and its chart refuses older ones',
      'upgrade the cluster to 1.34 or newer',
    ]);
  });

  test('without admission policies lacks the fence, and the labels of new nodes', async () => {
    const validating = 'validatingadmissionpolicies';
    const mutating = 'mutatingadmissionpolicies';
    const withKinds = (...value: string[]) => resultOf(admissionPolicies, { admission: { value } });
    expect(await withKinds(validating, mutating)).toBe('the API server has the admission policies that rollcall uses');
    expect(await withKinds(mutating)).toEqual([
      'fail: The API server has no ValidatingAdmissionPolicy v1: nothing limits the coordinator to its own keys',
      expect.stringContaining('switch the API on'),
    ]);
    expect(await withKinds(validating)).toEqual([
      'warn: The API server has no MutatingAdmissionPolicy v1: new nodes get the labels of their pool only after their creation',
      expect.stringContaining('use Kubernetes 1.36 or newer'),
    ]);
  });
});

describe('the rights to install', () => {
  const may = (isAllowed: (right: Right) => boolean) => ({
    may: async (right: Right) => ({ value: isAllowed(right) }),
  });

  test('are all that the chart needs', async () => {
    const asked: string[] = [];
    const of = may(({ verb, group, resource, namespace }) => {
      asked.push(`${verb} ${resource}.${group} ${namespace ?? ''}`.trim());
      return true;
    });
    expect(await resultOf(rightsToInstall, of)).toBe('you may create the main objects that the chart installs');
    expect(asked).toEqual([
      'create namespaces.',
      'create clusterroles.rbac.authorization.k8s.io',
      'create clusterrolebindings.rbac.authorization.k8s.io',
      'create customresourcedefinitions.apiextensions.k8s.io',
      'create validatingadmissionpolicies.admissionregistration.k8s.io',
      'create daemonsets.apps rollcall',
      'create deployments.apps rollcall',
      'create serviceaccounts. rollcall',
    ]);
  });

  test('that are missing are named in words, up to eight', async () => {
    expect(
      await resultOf(
        rightsToInstall,
        may(() => false),
      ),
    ).toEqual([
      expect.stringMatching(
        /^fail: You may not create namespaces, create clusterroles\.rbac\.authorization\.k8s\.io, .*create deployments\.apps in rollcall and create serviceaccounts in rollcall$/,
      ),
      'ask someone with the role cluster-admin to install the chart',
    ]);
    expect(
      (
        await resultOf(
          rightsToInstall,
          may(({ group }) => group !== 'apps'),
        )
      )[0],
    ).toBe('fail: You may not create daemonsets.apps in rollcall and create deployments.apps in rollcall');
  });

  test('are unknown where access reviews are forbidden', async () => {
    await expect(resultOf(rightsToInstall, { may: async () => forbidden })).rejects.toThrow('nodes is forbidden');
  });
});

describe('cluster-autoscaler', () => {
  const autoscaler = (
    args: string[],
    image = 'r.example/cluster-autoscaler:v1.35.0',
    command?: string[],
  ): Workload => ({
    metadata: { name: 'ca', namespace: 'kube-system' },
    spec: {
      template: { spec: { containers: [{ name: 'b' }, { name: 'a', image, args, ...(command ? { command } : {}) }] } },
    },
  });
  const of = (change: Partial<Evidence>, ...args: string[]) =>
    resultOf(clusterAutoscaler, { workloads: { value: [autoscaler(args)] }, ...change });
  const WELL = 'cluster-autoscaler (kube-system/ca) knows every taint that rollcall writes';

  test('that does not run here needs to know nothing', async () => {
    const none = 'cluster-autoscaler does not run here as a Deployment';
    expect(await resultOf(clusterAutoscaler, gate('taint'))).toBe(none);
    const other = autoscaler([], 'r.example/cluster-autoscaler-exporter-of-another');
    expect(await resultOf(clusterAutoscaler, { workloads: { value: [{ ...other, spec: {} }] } })).toBe(none);
  });

  test.each([
    'r/cluster-autoscaler',
    'r/cluster-autoscaler:v1',
    'r/cluster-autoscaler@sha256:1',
    'r/cluster-autoscaler-arm64:v1',
  ])('is known by its image: %s', async (image) => {
    expect(await resultOf(clusterAutoscaler, { workloads: { value: [autoscaler([], image)] } })).toBe(WELL);
  });

  test.each(['taint', 'both'])('has to know the taints of the gate %s', async (name) => {
    expect(await of(gate(name))).toEqual([
      `fail: cluster-autoscaler does not know ${WS_DAEMON} and ${FACADE}: while the nodes of a group have such a taint, it expects that new nodes of the group have it too`,
      `add to the arguments of kube-system/ca: --status-taint=${WS_DAEMON} --status-taint=${FACADE}`,
    ]);
  });

  test('has no taint to know where the gate is a label, or there is no Gitpod', async () => {
    expect(await of(gate('label'))).toBe(WELL);
    expect(await of(gate('taint', false))).toBe(WELL);
    expect(await of({ config: gone })).toBe(WELL);
  });

  test('has to know the taints of NodeServices, each once', async () => {
    expect((await of(services('a.example/x', 'a.example/x')))[1]).toBe(
      'add to the arguments of kube-system/ca: --status-taint=a.example/x',
    );
    expect(await of(services('a.example/x'), '--startup-taint=a.example/x')).toBe(WELL);
    expect(await of({ nodeServices: { value: [{ metadata: { name: 'a' } }] } })).toBe(WELL);
  });

  test('knows taints that are named by the flag of any kind, in its arguments or its command', async () => {
    expect(await of(services('a.example/x'), '-ignore-taint=a.example/x')).toBe(WELL);
    const byCommand = autoscaler([], undefined, ['./ca', '--startup-taint=a.example/x']);
    expect(await resultOf(clusterAutoscaler, { workloads: { value: [byCommand] }, ...services('a.example/x') })).toBe(
      WELL,
    );
  });

  test('knows taints by a prefix only where the flag is one', async () => {
    expect(await of(services('a.example/x'), '--startup-taint-prefix=a.example/')).toBe(WELL);
    expect(await of(services('a.example/x'), '--startup-taint-prefix=b.example/')).toHaveLength(2);
    expect(await of(services('a.example/x'), '--startup-taint=a.example/')).toHaveLength(2);
    expect(await of(services('a.example/x'), '--other=a.example/x')).toHaveLength(2);
  });

  test('knows taints of its own by their prefix', async () => {
    const own = ['startup-taint', 'status-taint', 'ignore-taint'].map((p) => `${p}.cluster-autoscaler.kubernetes.io/x`);
    expect(await of(services(...own))).toBe(WELL);
  });
});

describe('Karpenter', () => {
  const pool = (name: string, ...keys: string[]) => ({
    metadata: { name },
    spec: { template: { spec: { startupTaints: keys.map((key) => ({ key })) } } },
  });
  const of = (value: object[], change: Partial<Evidence> = services('a.example/x')) =>
    resultOf(karpenter, { karpenterPools: { value: value as never }, ...change });

  test('that has no pools needs to know nothing', async () => {
    expect(await of([])).toBe('this cluster has no NodePools of Karpenter');
    expect(await resultOf(karpenter, services('a.example/x'))).toBe('this cluster has no NodePools of Karpenter');
  });

  test('has to list each taint in each pool', async () => {
    const cure = expect.stringContaining('add it to spec.template.spec.startupTaints');
    expect(await of([pool('p', 'a.example/x')])).toBe('Karpenter knows every taint that rollcall writes (1 NodePool)');
    expect(await of([pool('p', 'a.example/x'), pool('q', 'b.example/x')])).toEqual([
      'warn: 1 NodePool of Karpenter does not list a.example/x: q',
      cure,
    ]);
    expect(await of([{ metadata: { name: 'p' } }, pool('q')])).toEqual([
      'warn: 2 NodePools of Karpenter do not list a.example/x: p and q',
      cure,
    ]);
  });

  test('takes taints of readiness.k8s.io for what others take off', async () => {
    expect(await of([pool('p')], services('readiness.k8s.io/x'))).toBe(
      'Karpenter knows every taint that rollcall writes (1 NodePool)',
    );
  });
});

describe('NodeReadinessRules', () => {
  const of = (value: object[]) =>
    resultOf(nodeReadinessRules, {
      readinessRules: { value: value as never },
      ...services('readiness.k8s.io/x', 'readiness.k8s.io/y'),
    });
  const rule = (name: string, key: string) => ({ metadata: { name }, spec: { taint: { key, effect: 'NoSchedule' } } });

  test('may write other taints, or be none', async () => {
    const well = 'no NodeReadinessRule writes a taint that rollcall writes';
    expect(await of([rule('a', 'readiness.k8s.io/a'), { metadata: { name: 'b' } }])).toBe(well);
    expect(await resultOf(nodeReadinessRules, services('readiness.k8s.io/x'))).toBe(well);
  });

  test('that write the same taint are named', async () => {
    expect(await of([rule('a', 'readiness.k8s.io/y')])).toEqual([
      "warn: The NodeReadinessRule a writes readiness.k8s.io/y, as rollcall does: they would undo each other's changes",
      expect.stringContaining('delete nodereadinessrule/a'),
    ]);
  });
});

describe('another labeler', () => {
  const of = (image: string, replicas = 1) =>
    resultOf(otherLabelers, { workloads: { value: [workload('other', { replicas }, image)] } });

  test.each([
    ['r.example/node-labeler', "Gitpod's node-labeler"],
    ['r.example/node-labeler:main', "Gitpod's node-labeler"],
    ['banzaicloud/nodepool-labels-operator:1', "Banzai's nodepool-labels-operator"],
    ['adaptant/k8s-auto-labeller:1', "adaptant's k8s-auto-labeller"],
    ['adaptant/node-label-monitor:1', "adaptant's k8s-auto-labeller"],
  ])('is known by its image: %s', async (image, name) => {
    expect(await of(image)).toEqual([
      `fail: ${name} runs (rollcall/other) and writes the same keys: it and rollcall would undo each other's changes`,
      expect.stringContaining('kubectl -n rollcall scale deployment/other --replicas=0'),
    ]);
  });

  test('is named with the page and what to copy from it', async () => {
    const [, cure] = await of('banzaicloud/nodepool-labels-operator:1');
    expect(cure).toContain(
      'follow packages/docs/how-to/migrate.md#banzai-clouds-nodepool-labels-operator: copy controller.namespace',
    );
    expect(cure).toContain('kubectl -n rollcall get configmap other -o yaml');
  });

  test.each([
    ["Gitpod's node-labeler", { managedFields: [{ manager: 'node-labeler' }] }],
    ["adaptant's k8s-auto-labeller", { managedFields: [{ manager: 'k8s-auto-labeller' }] }],
    ["Banzai's nodepool-labels-operator", { annotations: { 'nodepool.banzaicloud.io/managed-labels': '[]' } }],
  ])('that does not run is known by what it left until rollcall has written: %s', async (name, metadata) => {
    const workloads = { value: [] };
    const node = { metadata: { name: 'n', ...metadata } };
    const taken = { metadata: { ...node.metadata, name: 'm', managedFields: [{ manager: 'rollcall' }] } };
    const found = await resultOf(otherLabelers, { workloads, nodes: { value: [node, taken] } });
    expect(found[0]).toBe(`warn: ${name} has written to 1 node that rollcall has not written to: n`);
    expect(found[1]).toContain('follow packages/docs/how-to/migrate.md#');
  });

  test('that is scaled to none, or is no labeler, is no problem', async () => {
    const well = 'no other known labeler writes the same keys';
    expect(await of('r.example/node-labeler', 0)).toBe(well);
    expect(await of('r.example/node-labeler-exporter:1')).toBe(well);
    expect(await resultOf(otherLabelers, { workloads: { value: [{ metadata: { name: 'a' } }] } })).toBe(well);
  });
});

describe('labels that name pools', () => {
  const nodes = {
    value: [
      {
        metadata: {
          name: 'n',
          labels: { 'cloud.google.com/gke-nodepool': 'a1', 'node.banzaicloud.io/nodepool': 'b1' },
        },
      },
      { metadata: { name: 'm', labels: { 'cloud.google.com/gke-nodepool': 'a1' } } },
    ],
  };
  const of = (sets: string[], config: Record<string, unknown> = {}) =>
    resultOf(poolsAgree, {
      nodes,
      config: { value: config },
      nodePoolLabelSets: { value: sets.map((name) => ({ metadata: { name } })) },
    });

  test('are told where a set is for the later pool', async () => {
    expect((await of(['a1', 'b1']))[0]).toBe(
      'warn: Labels name several pools for 1 node, and a NodePoolLabels or NodePoolLabelSet is for a later one: n (a1 or b1)',
    );
    expect(
      (await of(['a1'], { poolLabels: ['node.banzaicloud.io/nodepool', 'cloud.google.com/gke-nodepool'] }))[0],
    ).toContain('n (b1 or a1)');
  });

  test('are nothing to tell otherwise', async () => {
    expect(await of(['a1'])).toEqual([]);
    expect(await of(['b1'], { poolLabels: ['cloud.google.com/gke-nodepool'] })).toEqual([]);
  });
});

describe('nodes', () => {
  const of = (...labels: Record<string, string>[]) =>
    resultOf(nodesThere, {
      nodes: { value: labels.map((each): NodeObject => ({ metadata: { name: 'n', labels: each } })) },
    });

  test('can run an agent', async () => {
    expect(await of({}, {})).toBe('2 nodes can run an agent');
    expect(await resultOf(nodesThere, { nodes: { value: [{ metadata: { name: 'n' } }] } })).toBe(
      '1 node can run an agent',
    );
  });

  test.each([
    { type: 'virtual-kubelet' },
    { 'eks.amazonaws.com/compute-type': 'fargate' },
    { 'kubernetes.io/os': 'windows' },
    { type: 'virtual-kubelet', 'kubernetes.io/os': 'windows' },
  ])('of %j cannot', async (labels) => {
    expect(await of({}, labels)).toBe('1 node can run an agent; 1 node cannot (virtual or Windows)');
    expect(await of(labels)).toEqual(['fail: No node can run an agent', 'check --context']);
  });

  test('that are none can run no agent', async () => {
    expect(await of()).toEqual(['fail: No node can run an agent', 'check --context']);
  });
});
