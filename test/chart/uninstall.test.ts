import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { KEYS_ANNOTATION, MANAGED_LABELS_ANNOTATION, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError, type KubeObject } from '../control-plane/api-client.ts';
import { createNamespace, createNode, type NodeObject, requestToken } from '../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { refusalOf } from '../e2e/pools/pool-cluster.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { Program } from '../rig/program.ts';
import { startControllers } from './controllers.ts';
import { CHART, everythingOn, fileOf, OPERATOR } from './render.ts';

const DEPLOYMENT = '/apis/apps/v1/namespaces/rollcall/deployments/rollcall-coordinator';
const JOB = '/apis/batch/v1/namespaces/rollcall/jobs/rollcall-uninstall';
const POOL = '/apis/labels.banzaicloud.io/v1alpha1/namespaces/rollcall/nodepoollabelsets';
const SECRET = '/api/v1/namespaces/rollcall/secrets/rollcall-coordinator-tls';
const CA = '/api/v1/namespaces/rollcall/configmaps/rollcall-coordinator-ca';
const RELEASE = ['rollcall', '--namespace', 'rollcall'];
const MANUAL = path.resolve(import.meta.dirname, '../../packages/docs/how-to/uninstall.md');
const KEYS = '["label:accelerators/edgetpu"]';
const VALUES = { coordinator: { config: { startupGateRequires: ['gold'] } } };

describe.each([3, 4] as const)('a release of Helm %d', (major) => {
  let helm: Helm;
  let controlPlane: ControlPlane;
  let dir: string;
  let labelDir: string;
  const programs: Program[] = [];

  beforeAll(async () => {
    [helm, controlPlane] = await Promise.all([ensureHelm(major), startControlPlane()]);
    await controlPlane.kubectl(['apply', '-f', OPERATOR]);
    await controlPlane.kubectl(['wait', '--for=condition=Established', '-f', OPERATOR]);
    dir = await mkdtemp(path.join(tmpdir(), 'rollcall-chart-'));
    labelDir = path.join(dir, 'rules');
    await cp(path.join(CHART, '../rules/accelerators'), path.join(labelDir, 'accelerators'), { recursive: true });
  }, 600_000);

  afterAll(async () => {
    for (const program of programs) await program.destroy();
    await controlPlane?.stop();
    if (dir) await rm(dir, { recursive: true, force: true });
  });

  /** Runs what the pod of `account` would run, with its ConfigMap, its token, and ports of this machine. */
  async function runCoordinator(account: string, args: readonly string[]): Promise<Program> {
    const { api } = controlPlane;
    const configMap = await api.get(`/api/v1/namespaces/rollcall/configmaps/${account}`);
    const file = path.join(dir, `${account}.yaml`);
    await writeFile(file, fileOf([{ ...configMap, kind: 'ConfigMap' }], account, 'coordinator.yaml'));
    const ports = ['--listen=127.0.0.1:0', '--reports-listen=127.0.0.1:0', '--console-listen=off'];
    const kubeconfig = await controlPlane.kubeconfigFor(await tokenOf(account));
    const program = new Program('coordinator', {
      args: [`--kubeconfig=${kubeconfig}`, `--config=${file}`, ...ports, ...args],
      env: { POD_NAMESPACE: 'rollcall', POD_NAME: account, POD_IP: '127.0.0.1' },
    });
    programs.push(program);
    return program;
  }

  function tokenOf(account: string): Promise<string> {
    return requestToken(controlPlane.api, { namespace: 'rollcall', serviceAccount: account });
  }

  const hasData = async (object: string) => (await controlPlane.api.get(object))['data'] !== undefined;

  async function exists(object: string): Promise<boolean> {
    return controlPlane.api.get(object).then(
      () => true,
      (error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return false;
        throw error;
      },
    );
  }

  async function nodeNow(): Promise<NodeObject> {
    return controlPlane.api.get<NodeObject>('/api/v1/nodes/node-1');
  }

  /** Rights of an account in the namespace, by the API server's own answer. */
  function rightsOf(account: string): Promise<string> {
    const as = `--as=system:serviceaccount:rollcall:${account}`;
    return controlPlane.kubectl(['auth', 'can-i', '--list', '--namespace', 'rollcall', as]);
  }

  /** Says of the Job what the kubelet and the controller of Jobs would say. */
  async function endJob(type: 'Complete' | 'Failed'): Promise<void> {
    const now = new Date().toISOString();
    const isComplete = type === 'Complete';
    const outcome = isComplete ? { completionTime: now, succeeded: 1 } : { failed: 1 };
    const conditions = [isComplete ? 'SuccessCriteriaMet' : 'FailureTarget', type].map((each) => ({
      type: each,
      status: 'True',
      lastTransitionTime: now,
    }));
    await controlPlane.api.patch(`${JOB}/status`, { status: { startTime: now, ...outcome, conditions } });
  }

  test('says which flag an upgrade needs where values are new, and can change the priority of its pods', async () => {
    const { kubeconfig } = controlPlane;
    const older = path.join(dir, 'older');
    await cp(CHART, older, { recursive: true });
    const values = path.join(older, 'values.yaml');
    await writeFile(values, (await readFile(values, 'utf8')).replace(/\nuninstall:\n.*?\n(?=\S)/s, '\n'));
    for (const folder of ['uninstall', 'values']) await rm(path.join(older, 'templates', folder), { recursive: true });
    await helm(['install', ...RELEASE, older, '--create-namespace'], { kubeconfig });
    const upgrade = ['upgrade', ...RELEASE, CHART, '--set', 'priorityClass.value=7'];
    const refused = helm([...upgrade, '--reuse-values'], { kubeconfig });
    await expect(refused).rejects.toThrow(/uninstall: is missing; .* use --reset-then-reuse-values/);
    expect(await namesOf('rollcall-1000000')).toEqual(['priorityclass.scheduling.k8s.io/rollcall-1000000']);
    await helm([...upgrade, '--reset-then-reuse-values'], { kubeconfig });
    expect(await namesOf('rollcall-7')).toEqual(['priorityclass.scheduling.k8s.io/rollcall-7']);
    expect(await namesOf('rollcall-1000000')).toEqual([]);
    await helm(['uninstall', ...RELEASE, '--no-hooks'], { kubeconfig });
  });

  test('works with the rights that it has, and leaves no trace on nodes', async () => {
    const { api, kubeconfig } = controlPlane;
    const install = ['install', ...RELEASE, CHART, '--create-namespace', '--values', '-'];
    await helm(install, { kubeconfig, stdin: JSON.stringify(VALUES) });
    const everything = await everythingOn(controlPlane.kubectl);
    for (const name of ['gitpod', 'pools']) await createNamespace(api, name);
    await helm(['upgrade', ...RELEASE, CHART, ...everything], { kubeconfig });
    await helm(['rollback', ...RELEASE, '1'], { kubeconfig });
    expect(await rightsOf('rollcall-agent')).toBe(await rightsOf('anybody'));
    expect(await rightsOf('rollcall-coordinator')).not.toBe(await rightsOf('anybody'));
    await waitFor('the CRD', () => exists(POOL));
    await api.post(POOL, {
      apiVersion: 'labels.banzaicloud.io/v1alpha1',
      kind: 'NodePoolLabelSet',
      metadata: { name: 'pool1', namespace: 'rollcall' },
      spec: { labels: { tier: 'gold' } },
    });

    const coordinator = await runCoordinator('rollcall-coordinator', [`--label-dir=${labelDir}`]);
    await waitFor('its certificate and the CA', async () => (await hasData(SECRET)) && (await hasData(CA)), {
      timeoutMs: 30_000,
    });
    await createNode(api, 'node-1', {
      labels: { agentpool: 'pool1', mine: 'stays', 'feature.node.kubernetes.io/usb-ff_18d1_9302.present': 'true' },
      taints: [{ key: STARTUP_TAINT, effect: 'NoSchedule' }],
    });
    await waitFor('the labels of the pool and of a rule', async () => {
      const { labels = {}, annotations = {} } = (await nodeNow()).metadata;
      return (
        labels['tier'] === 'gold' && labels['accelerators/edgetpu'] === 'true' && annotations[MANAGED_LABELS_ANNOTATION]
      );
    }).catch((error: unknown) => {
      throw new Error(coordinator.tail(), { cause: error });
    });

    const uninstalled = helm(['uninstall', ...RELEASE, '--timeout', '60s'], { kubeconfig });
    await waitFor('the Deployment to go', async () => !(await exists(DEPLOYMENT)), { timeoutMs: 60_000 });
    expect(await coordinator.kill('SIGTERM')).toBe(0);
    await waitFor('the Job', () => exists(JOB), { timeoutMs: 60_000 });
    // It does not listen, so files for listeners may be missing.
    const listening = ['--scheduler-tls=on', '--scheduler-client-ca-file=/not/there', '--tls-cert-file=/not/there'];
    const prune = await runCoordinator('rollcall-uninstall', ['--prune', ...listening, '--tls-key-file=/not/there']);
    expect(await prune.exited(), prune.tail()).toBe(0);
    await endJob('Complete');
    await uninstalled;

    const { metadata, spec } = await nodeNow();
    expect(Object.keys(metadata.labels ?? {}).toSorted()).toEqual([
      'agentpool',
      'feature.node.kubernetes.io/usb-ff_18d1_9302.present',
      'kubernetes.io/hostname',
      'kubernetes.io/os',
      'mine',
    ]);
    expect(metadata.annotations ?? {}).toEqual({});
    expect(spec.taints ?? []).toEqual([]);
    await expectNothingLeft();
    expect(await exists(`${POOL}/pool1`)).toBe(true);
  }, 120_000);

  /** What only Kubernetes 1.36 has. */
  async function mutatingKinds(): Promise<string[]> {
    const served = await controlPlane.kubectl(['api-resources', '-o', 'name']);
    const names = ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'];
    return names.filter((name) => served.includes(`${name}.admissionregistration.k8s.io`));
  }

  /** Nothing of the release, but what is the user's: the CRD and the NodePoolLabelSets. */
  async function expectNothingLeft(): Promise<void> {
    const kinds = [
      ...['deployments', 'daemonsets', 'services', 'jobs', 'poddisruptionbudgets', 'rolebindings', 'roles'],
      ...['clusterroles', 'clusterrolebindings', 'priorityclasses', 'configmaps', 'serviceaccounts'],
      ...['podmonitors', 'prometheusrules'],
      ...(await mutatingKinds()),
      ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
    ];
    const selected = ['get', kinds.join(','), '-A', '-l', 'app.kubernetes.io/name=rollcall', '-o', 'json'];
    const { items } = JSON.parse(await controlPlane.kubectl(selected)) as { items: KubeObject[] };
    expect(items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  }

  /** Objects of every kind whose name begins with this. */
  async function namesOf(prefix: string): Promise<string[]> {
    const kinds = await controlPlane.kubectl(['api-resources', '--verbs=list,get', '-o', 'name']);
    const names = await controlPlane.kubectl(['get', kinds.trim().split('\n').join(), '-A', '-o', 'name']);
    return names.split('\n').filter((name) => name.split('/')[1]?.startsWith(prefix));
  }

  /** Uninstalls, and gives up waiting for the Job: no kubelet runs its pods here. */
  async function giveUp(): Promise<void> {
    const uninstalled = helm(['uninstall', ...RELEASE, '--timeout', '1s'], { kubeconfig: controlPlane.kubeconfig });
    await expect(uninstalled).rejects.toThrow(/timed out|deadline/);
  }

  test('keeps the Job with its rights and its fence when it gives up waiting, until the next time', async () => {
    const { kubeconfig } = controlPlane;
    await helm(['install', ...RELEASE, CHART, '--create-namespace'], { kubeconfig });
    await giveUp();
    const left = await namesOf('rollcall-uninstall');
    expect(left).toHaveLength(9);
    // What stays is fenced.
    await createNode(controlPlane.api, 'node-2');
    const thief = await controlPlane.clientFor(await tokenOf('rollcall-uninstall'));
    const attack = (body: object) => refusalOf(thief, 'node-2', body);
    const role = { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } };
    await waitFor('the fence', async () => (await attack(role))?.includes('rollcall may not change the labels'));
    expect(await attack({ spec: { unschedulable: true } })).toContain('rollcall may not change the spec');
    const late = await runCoordinator('rollcall-uninstall', ['--prune']);
    expect(await late.exited(), late.tail()).toBe(0);
    // It cannot take its own fence away.
    for (const kind of ['validatingadmissionpolicies', 'validatingadmissionpolicybindings']) {
      const fence = `/apis/admissionregistration.k8s.io/v1/${kind}/rollcall-uninstall`;
      for (const method of ['PATCH', 'DELETE'])
        expect(await thief.exchange(method, fence, '{}', 'application/merge-patch+json')).toMatchObject({
          status: 403,
        });
    }
    thief.close();
    await endJob('Failed');
    const jobUid = async () => (await controlPlane.api.get(JOB)).metadata.uid;
    const abandoned = await jobUid();
    // The same names are free again, and nothing is left in the end.
    await helm(['install', ...RELEASE, CHART], { kubeconfig });
    expect(await namesOf('rollcall-uninstall')).toEqual(left);
    const uninstalled = helm(['uninstall', ...RELEASE, '--timeout', '60s'], { kubeconfig });
    await waitFor('the Job of this time', async () => (await exists(JOB)) && (await jobUid()) !== abandoned, {
      timeoutMs: 60_000,
    });
    await endJob('Complete');
    await uninstalled;
    await expectNothingLeft();
  });

  test('leaves nothing after it gave up waiting, once a command of the manual has removed it, the fence last', async () => {
    const { kubeconfig, kubectl } = controlPlane;
    await helm(['install', ...RELEASE, CHART, '--create-namespace'], { kubeconfig });
    await giveUp();
    const [wait = [], remove = [], ...more] = commandsBelow('If Helm gives up waiting');
    expect(more).toEqual([]);
    const removed = kubectl(wait).then(() => kubectl(remove));
    await endJob('Complete');
    const lines = (await removed).trim().split('\n');
    expect(lines).toHaveLength(9);
    expect(lines.slice(-2).join()).toMatch(/^validatingadmissionpolicybinding.*,validatingadmissionpolicy\./);
    expect(await namesOf('rollcall-uninstall')).toEqual([]);
    await expectNothingLeft();
  });

  test('leaves nothing either if its namespace was deleted first, once it is installed again and uninstalled', async () => {
    const { api, kubectl, kubeconfig } = controlPlane;
    await helm(['install', ...RELEASE, CHART, '--create-namespace'], { kubeconfig });
    await createNode(api, 'node-4');
    // As the coordinator wrote it.
    const metadata = {
      name: 'node-4',
      labels: { 'accelerators/edgetpu': 'true' },
      annotations: { [KEYS_ANNOTATION]: KEYS },
    };
    const applied = { apiVersion: 'v1', kind: 'Node', metadata };
    await api.patch('/api/v1/nodes/node-4?fieldManager=rollcall', applied, 'application/apply-patch+yaml');
    const controller = await startControllers(controlPlane, ['namespace-controller']);
    await kubectl(['delete', 'namespace', 'rollcall', '--timeout=60s']).finally(() => controller.kill('SIGKILL'));
    expect((await namesOf('rollcall-')).length).toBeGreaterThan(5);
    const [install = [], uninstall = []] = commandsBelow('If the namespace was deleted first');
    const values = install.indexOf('--values');
    await helm(
      install.toSpliced(values, 2).map((word) => (word === 'deploy/chart' ? CHART : word)),
      { kubeconfig },
    );
    const uninstalled = helm(uninstall, { kubeconfig });
    await waitFor('the Job', () => exists(JOB), { timeoutMs: 60_000 });
    const prune = await runCoordinator('rollcall-uninstall', ['--prune']);
    expect(await prune.exited(), prune.tail()).toBe(0);
    await endJob('Complete');
    await uninstalled;
    expect((await api.get('/api/v1/nodes/node-4')).metadata.labels).not.toHaveProperty('accelerators/edgetpu');
    await expectNothingLeft();
  });

  test('does nothing while the Deployment has replicas, as where kubectl applies all that the chart renders', async () => {
    const { api, kubectl } = controlPlane;
    const rendered = await helm(['template', ...RELEASE, CHART]);
    // Of the namespace and its account, which a controller would make for the pod of helm test.
    const [kind, of] = [
      'kind: Namespace, metadata: {name: rollcall}',
      'kind: ServiceAccount, metadata: {name: default, namespace: rollcall}',
    ];
    for (const each of [kind, of]) await kubectl(['apply', '-f', '-'], { stdin: `{apiVersion: v1, ${each}}` });
    await kubectl(['apply', '--server-side', '-f', '-'], { stdin: rendered });
    const startCoordinator = () => runCoordinator('rollcall-coordinator', [`--label-dir=${labelDir}`]);
    const startPrune = () => runCoordinator('rollcall-uninstall', ['--prune']);
    const coordinator = await startCoordinator();
    await createNode(api, 'node-3', { labels: { 'feature.node.kubernetes.io/usb-ff_18d1_9302.present': 'true' } });
    const label = async () => (await api.get('/api/v1/nodes/node-3')).metadata.labels?.['accelerators/edgetpu'];
    await waitFor('the label of a rule', label, { timeoutMs: 30_000 });
    // The Lease is free, as between two leaders.
    expect(await coordinator.kill('SIGTERM')).toBe(0);
    const early = await startPrune();
    expect(await early.exited(), early.tail()).toBe(2);
    expect(early.tail()).toContain('Removed nothing');
    expect(await label()).toBe('true');
    const scale = (replicas: number) =>
      kubectl(['-n', 'rollcall', 'scale', 'deployment/rollcall-coordinator', `--replicas=${replicas}`]);
    await scale(0);
    // It waits for a coordinator that stops, and sees an installation that began meanwhile.
    const stopping = await startCoordinator();
    await stopping.waitForLog('Started leading');
    const waiting = await startPrune();
    await waiting.waitForLog('Waited for the Lease');
    await scale(2);
    expect(await stopping.kill('SIGTERM')).toBe(0);
    expect(await waiting.exited(), waiting.tail()).toBe(2);
    expect(await label()).toBe('true');
    await scale(0);
    const late = await startPrune();
    expect(await late.exited(), late.tail()).toBe(0);
    expect(await label()).toBeUndefined();
  });
});

/** The commands in the first block of code of a section of the manual, as words without `kubectl`. */
function commandsBelow(heading: string): string[][] {
  const [, section = ''] = readFileSync(MANUAL, 'utf8').split(`\n## ${heading}\n`);
  const [, code = ''] = /```sh\n(.*?)```/s.exec(section) ?? [];
  const commands = code.replaceAll('\\\n', ' ').split('&&');
  return commands.map((command) => command.trim().split(/\s+/).slice(1));
}
