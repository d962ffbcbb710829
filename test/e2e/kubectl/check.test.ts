import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNamespace } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type PluginResult, runPlugin } from '../../rig/run-plugin.ts';
import { COORDINATORS, Installation, NAMESPACE, NODES } from './installation.ts';

/** Was valid for the year 2024. */
const EXPIRED = `-----BEGIN CERTIFICATE-----
MIIBLTCB1KADAgECAgEBMAoGCCqGSM49BAMCMBYxFDASBgNVBAMTC3JvbGxjYWxs
LWNhMB4XDTI0MDEwMTAwMDAwMFoXDTI1MDEwMTAwMDAwMFowFjEUMBIGA1UEAxML
cm9sbGNhbGwtY2EwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASsP4VHn462QlxY
O2rnCNXIcxlG9gWRRiKw1Br8xEG1AJq9bPc4i296XAi81rZ4s+CohUfKgf+J15t0
6KFoDlrToxMwETAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCr
MC6WbUJFMaBkEm5rZ1BOva5veeW/OlW4HDac0jR8MgIgA4S+6Z5z5aQCRT/GMatb
yDbWJ+wSCDSr3GAGlRMZCso=
-----END CERTIFICATE-----
`;
const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;
const AGENT = `/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets/rollcall-agent`;
const COORDINATOR_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/rollcall-coordinator';
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
const CONFIG = `${CORE}/configmaps/rollcall-coordinator`;
const CA = `${CORE}/configmaps/rollcall-coordinator-ca`;
const TAINT = 'service.rollcall.dev/mirror';

let installation: Installation;
beforeAll(async () => {
  installation = await Installation.start({
    gitpod: { enabled: true },
    rules: { accelerators: false },
    services: { allowedPrefixes: ['service.rollcall.dev/', 'StorageReady'] },
    pools: { allowedPrefixes: ['team/'] },
    coordinator: {
      config: {
        allowNoExecute: true,
        allowCondition: ['StorageReady'],
        forbiddenLabelDomains: ['Example.com'],
        poolLabels: ['example.com/pool'],
      },
    },
  });
  await installation.gitpodPod('default');
  await createNamespace(installation.controlPlane.api, 'gitpod');
  await installation.controlPlane.api.post('/apis/rollcall.dev/v1alpha1/nodeservices', {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeService',
    metadata: { name: 'mirror' },
    spec: { checks: [{ name: 'port', tcp: { port: 5000 } }], publish: { taint: { key: TAINT, effect: 'NoSchedule' } } },
  });
});
afterAll(() => installation?.stop());

/** Changes a field of an object (a JSON pointer), and returns how to have it back as it was. */
async function changed(object: string, pointer: string, change: (value: never) => unknown) {
  const { api } = installation.controlPlane;
  const set = (value: unknown) => {
    const operation = value === undefined ? { op: 'remove', path: pointer } : { op: 'add', path: pointer, value };
    return api.patch(object, [operation], 'application/json-patch+json');
  };
  const names = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/'));
  const before = names.reduce<unknown>(
    (value, name) => (value as Record<string, unknown> | undefined)?.[name],
    await api.get(object),
  );
  await set(change(structuredClone(before) as never));
  return () => set(before);
}

async function created(path: string, object: KubeObject) {
  const { api } = installation.controlPlane;
  await api.post(path, object);
  return () => api.delete(`${path}/${object.metadata.name}`);
}

function deployment(name: string, image: string, args: readonly string[] = []) {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image, args }] } };
  const metadata = { name, namespace: NAMESPACE };
  return created(DEPLOYMENTS, { metadata, spec: { selector: { matchLabels: labels }, template } });
}

/** Gives a variable of the fence another expression. */
function fenceWith(name: string, expression: string) {
  return changed(`${POLICIES}/rollcall-fence`, '/spec/variables', (variables: { name: string }[]) =>
    variables.map((each) => (each.name === name ? { name, expression } : each)),
  );
}

/** Changes the file of the coordinators, which goes on with the one that it read. */
const fileWith = (before: RegExp, after: string) =>
  changed(CONFIG, '/data/coordinator.yaml', (text: string) => text.replace(before, after));

type Fault = {
  /** Returns how to take it back. */
  plant: () => Promise<() => Promise<unknown>>;
  /** The finding, and its cure. */
  finds: RegExp;
  cure: RegExp;
};

const FAULTS: Readonly<Record<string, Fault>> = {
  'a missing toleration': {
    plant: () => changed(AGENT, '/spec/template/spec/tolerations', () => [{ key: 'other', operator: 'Exists' }]),
    finds: /^fail +The agent does not tolerate dedicated=build:NoExecute, so it cannot run on 1 node: node-1$/,
    cure: /^set agent\.tolerations to its default, \[{operator: Exists}\]$/,
  },
  'an undeclared taint': {
    plant: async () => {
      const image = 'autoscaling/cluster-autoscaler:v1.36.0';
      const remove = await deployment('cluster-autoscaler', image, ['--v=4']);
      // Its cure is tried out before it goes.
      return async () => {
        const args = ['--v=4', `--status-taint=${TAINT}`];
        await changed(`${DEPLOYMENTS}/cluster-autoscaler`, '/spec/template/spec/containers/0/args', () => args);
        expect(findingsOf(await check())).toEqual([]);
        await remove();
      };
    },
    finds: /^fail +cluster-autoscaler does not know service\.rollcall\.dev\/mirror: while the nodes of a group have/,
    cure: /^add to the arguments of rollcall\/cluster-autoscaler: --status-taint=service\.rollcall\.dev\/mirror$/,
  },
  'a policy without a binding': {
    plant: async () => {
      const { api } = installation.controlPlane;
      const { spec } = await api.get<KubeObject & { spec: object }>(`${BINDINGS}/rollcall-fence`);
      await api.delete(`${BINDINGS}/rollcall-fence`);
      return () => created(BINDINGS, { metadata: { name: 'rollcall-fence' }, spec });
    },
    finds: /^fail +The policy rollcall-fence has no binding, so it has no effect$/,
    cure: /^install both again: helm upgrade/,
  },
  'a predecessor that still runs': {
    plant: async () => {
      const remove = await deployment('node-labeler', 'gitpod/node-labeler:main');
      return async () => {
        await changed(`${DEPLOYMENTS}/node-labeler`, '/spec/replicas', () => 0);
        expect(findingsOf(await check())).toEqual([]);
        await remove();
      };
    },
    finds: /^fail +Gitpod's node-labeler runs \(rollcall\/node-labeler\) and writes the same keys/,
    cure: /: kubectl -n rollcall scale deployment\/node-labeler --replicas=0$/,
  },
  'an expired certificate': {
    plant: async () => {
      await installation.coordinator.kill('SIGSTOP');
      await changed(CA, '/data/ca.crt', () => EXPIRED);
      // The coordinator mends it by itself, once it runs again.
      return async () => {
        await installation.coordinator.kill('SIGCONT');
        const published = () => installation.controlPlane.api.get<KubeObject & { data: Record<string, string> }>(CA);
        const isMended = async () => (await published()).data['ca.crt'] !== EXPIRED;
        await waitFor('the CA', isMended, { timeoutMs: 60_000 });
      };
    },
    finds: /^fail +The CA that agents trust expired \d+d ago$/,
    cure: /^kubectl -n rollcall logs -l \S+=coordinator \| grep -i certificate$/,
  },
  'agents of an older version': {
    plant: () => changed(`${CORE}/pods/rollcall-agent-${NODES[1]}`, '/spec/containers/0/image', () => 'rollcall:0.0.9'),
    finds: /^warn +1 agent runs another version than the DaemonSet specifies: on node-2$/,
    cure: /^kubectl -n rollcall rollout status daemonset\/rollcall-agent$/,
  },
  'the wrong namespace': {
    plant: async () => {
      await installation.removeGitpodPod('default');
      await installation.gitpodPod('gitpod');
      return async () => {
        await installation.removeGitpodPod('gitpod');
        await installation.gitpodPod('default');
      };
    },
    finds: /^fail +Gitpod's services are configured for default, but run in gitpod$/,
    cure: /^set gitpod\.namespace=gitpod and run helm upgrade$/,
  },
  'no right to a subresource': {
    plant: () =>
      changed(COORDINATOR_ROLE, '/rules', (rules: { resources: string[] }[]) =>
        rules.filter(({ resources }) => !resources.includes('nodeservices/status')),
      ),
    finds: /^fail +The coordinator's account may not patch nodeservices\.rollcall\.dev\/status$/,
    cure: /^install its ClusterRole and Role again: helm upgrade/,
  },
  'a NetworkPolicy in the way': {
    plant: () =>
      created(`/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies`, {
        metadata: { name: 'only-dns' },
        spec: { podSelector: {}, policyTypes: ['Egress'], egress: [{ ports: [{ port: 53, protocol: 'UDP' }] }] },
      }),
    finds: /^fail +NetworkPolicies block the reports from the agents \(TCP 8443\): only-dns$/,
    cure: /^set networkPolicy\.enabled=true, or allow TCP 8443 from the agents in your own policy$/,
  },
  'a fence of fewer prefixes for NodeServices': {
    plant: () => fenceWith('servicePrefixes', "['StorageReady']"),
    finds:
      /^fail +The coordinator allows NodeServices keys that begin with service\.rollcall\.dev\/ and StorageReady \(servicesAllowedPrefixes\), but the fence allows keys that begin with StorageReady \(servicePrefixes\): the API server refuses/,
    cure: /^render both from the same values: helm upgrade; or edit servicePrefixes in the ValidatingAdmissionPolicy rollcall-fence$/,
  },
  'a fence of more prefixes for pools': {
    plant: () => fenceWith('poolPrefixes', "['']"),
    finds:
      /^warn +The fence allows all keys \(poolPrefixes\), but .* keys that begin with team\/ \(poolsAllowedPrefixes\)/,
    cure: / edit poolPrefixes /,
  },
  'a coordinator that allows NodeServices all keys': {
    plant: () => fileWith(/servicesAllowedPrefixes:(\n *- .*)+/, 'services: { allowedPrefixes: [] }'),
    finds:
      /^fail +The coordinator allows NodeServices all keys \(servicesAllowedPrefixes\), but the fence .* all others$/,
    cure: / edit servicePrefixes /,
  },
  'a coordinator that allows rules keys that the fence refuses': {
    plant: () => fileWith(/$/, 'labelDir: /etc/rules\nrulesAllowedPrefixes: [mine/]\n'),
    finds:
      /^fail +The coordinator allows rules keys that begin with mine\/ \(rulesAll.*, but the fence allows none \(ownPr/,
    cure: / edit ownPrefixes /,
  },
  'a fence that refuses taints that evict': {
    plant: () => fenceWith('mayEvict', 'false'),
    finds:
      /^fail +The coordinator allows taints with the effect NoExecute \(allowNoExecute\), but the fence does not \(mayE/,
    cure: / edit mayEvict /,
  },
  'a fence that refuses conditions': {
    plant: () => fenceWith('mayChangeConditions', 'false'),
    finds: /^fail +The coordinator allows conditions \(servicesConditions\), but the fence does not \(mayChangeCondi/,
    cure: / edit mayChangeConditions /,
  },
  'a condition without a prefix': {
    plant: () => fileWith(/allowCondition:/, 'allowCondition:\n- KernelReady'),
    finds:
      /^fail +The coordinator allows the conditions KernelReady \(allowCondition\), but the fence allows conditions/,
    cure: /^add KernelReady to services\.allowedPrefixes and run helm upgrade$/,
  },
  'a fence that reserves fewer domains': {
    plant: () => fenceWith('reservedDomains', "['k8s.io', 'kubernetes.io']"),
    finds: /^warn +The fence allows labels of pools in example\.com \(reservedDomains\), but the coordinator does not/,
    cure: / edit reservedDomains /,
  },
  'a fence of other pools': {
    plant: () => fenceWith('poolLabels', "['agentpool']"),
    finds:
      /^fail +The coordinator knows nodes of pools by example\.com\/pool \(poolLabels\), but the fence .* by agentpool/,
    cure: / edit poolLabels /,
  },
  'two coordinators of different configuration': {
    plant: () => changed(`${CORE}/pods/${COORDINATORS[1]}`, '/metadata/annotations/checksum~1config', () => 'another'),
    finds:
      /^fail +Coordinators run with 2 different configurations: rollcall-coordinator-a and rollcall-coordinator-b$/,
    cure: /^kubectl -n rollcall rollout status deployment\/rollcall-coordinator; /,
  },
};

function check(): Promise<PluginResult> {
  return runPlugin(['check', `--kubeconfig=${installation.controlPlane.kubeconfig}`]);
}

/** Its findings, each with its cure. */
function findingsOf({ stdout }: PluginResult): { finding: string; cure: string }[] {
  return [...stdout.matchAll(/^((?:fail|warn) .*)\n +fix: (.*)$/gm)].map(([, finding = '', cure = '']) => ({
    finding,
    cure,
  }));
}

test('of a healthy installation finds nothing', async () => {
  // A taint that every node of a pool has, and that the agent tolerates.
  const taints = [{ key: 'dedicated', value: 'build', effect: 'NoExecute' }];
  await changed(`/api/v1/nodes/${NODES[0]}`, '/spec/taints', () => taints);
  const result = await check();
  expect(findingsOf(result)).toEqual([]);
  expect(result.stdout).toMatch(/^Rollcall is installed correctly\.\n\nok {4}2 of 2 coordinators are ready\n/);
  expect(result).toMatchObject({ exitCode: 0, stderr: '' });
});

test.each(Object.keys(FAULTS))('finds %s, with its cure, and nothing else', async (name) => {
  const { plant, finds, cure } = FAULTS[name] as Fault;
  const takeBack = await plant();
  try {
    // The API server hears of new rights by a watch.
    const look = async () => {
      const result = await check();
      return findingsOf(result).length > 0 ? result : undefined;
    };
    const found = await waitFor('the finding', look, { timeoutMs: 30_000 });
    expect(findingsOf(found)).toEqual([{ finding: expect.stringMatching(finds), cure: expect.stringMatching(cure) }]);
    const isWarning = found.stdout.includes('\nwarn');
    expect(found.exitCode).toBe(isWarning ? 0 : 1);
    expect(found.stdout).toMatch(
      isWarning ? /^Rollcall is installed correctly; 1 warning\.\n/ : /^1 problem to fix\.\n/,
    );
  } finally {
    await takeBack();
  }
});

test('finds nothing once all of it is taken back', async () => {
  const isWell = async () => (await check()).stdout.startsWith('Rollcall is installed correctly.\n');
  await waitFor('no finding', isWell, { timeoutMs: 30_000 });
});
