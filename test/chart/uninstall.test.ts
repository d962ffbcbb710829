import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MANAGED_LABELS_ANNOTATION, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError, type KubeObject } from '../control-plane/api-client.ts';
import { createNamespace, createNode, type NodeObject, requestToken } from '../control-plane/cluster.ts';
import type { Component } from '../control-plane/component.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { refusalOf } from '../e2e/pools/pool-cluster.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { Program } from '../rig/program.ts';
import { startGarbageCollector } from './garbage-collector.ts';
import { CHART, everythingOn, fileOf, OPERATOR } from './render.ts';

const DEPLOYMENT = '/apis/apps/v1/namespaces/rollcall/deployments/rollcall-coordinator';
const JOB = '/apis/batch/v1/namespaces/rollcall/jobs/rollcall-uninstall';
const POOL = '/apis/labels.banzaicloud.io/v1alpha1/namespaces/rollcall/nodepoollabelsets';
const SECRET = '/api/v1/namespaces/rollcall/secrets/rollcall-coordinator-tls';
const CA = '/api/v1/namespaces/rollcall/configmaps/rollcall-coordinator-ca';
const VALUES = { coordinator: { config: { startupGateRequires: ['gold'] } } };

describe.each([3, 4] as const)('a release of Helm %d', (major) => {
  let helm: Helm;
  let controlPlane: ControlPlane;
  let garbageCollector: Component;
  let dir: string;
  const programs: Program[] = [];

  beforeAll(async () => {
    [helm, controlPlane] = await Promise.all([ensureHelm(major), startControlPlane()]);
    garbageCollector = await startGarbageCollector(controlPlane);
    await controlPlane.kubectl(['apply', '-f', OPERATOR]);
    await controlPlane.kubectl(['wait', '--for=condition=Established', '-f', OPERATOR]);
    dir = await mkdtemp(path.join(tmpdir(), 'rollcall-chart-'));
  }, 600_000);

  afterAll(async () => {
    for (const program of programs) await program.destroy();
    await garbageCollector?.kill('SIGKILL');
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
    return runAs(account, [`--config=${file}`, ...ports, ...args]);
  }

  function tokenOf(account: string): Promise<string> {
    return requestToken(controlPlane.api, { namespace: 'rollcall', serviceAccount: account });
  }

  async function runAs(account: string, args: readonly string[]): Promise<Program> {
    const program = new Program('coordinator', {
      args: [`--kubeconfig=${await controlPlane.kubeconfigFor(await tokenOf(account))}`, ...args],
      env: { POD_NAMESPACE: 'rollcall', POD_NAME: account, POD_IP: '127.0.0.1' },
    });
    programs.push(program);
    return program;
  }

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

  test('works with the rights that it has, and leaves no trace on nodes', async () => {
    const { api, kubeconfig } = controlPlane;
    const release = ['rollcall', '--namespace', 'rollcall'];
    const install = ['install', ...release, CHART, '--create-namespace', '--values', '-'];
    await helm(install, { kubeconfig, stdin: JSON.stringify(VALUES) });
    const everything = await everythingOn(controlPlane.kubectl);
    for (const name of ['gitpod', 'pools']) await createNamespace(api, name);
    await helm(['upgrade', ...release, CHART, ...everything], { kubeconfig });
    await helm(['rollback', ...release, '1'], { kubeconfig });
    expect(await rightsOf('rollcall-agent')).toBe(await rightsOf('anybody'));
    expect(await rightsOf('rollcall-coordinator')).not.toBe(await rightsOf('anybody'));
    await waitFor('the CRD', () => exists(POOL));
    await api.post(POOL, {
      apiVersion: 'labels.banzaicloud.io/v1alpha1',
      kind: 'NodePoolLabelSet',
      metadata: { name: 'pool1', namespace: 'rollcall' },
      spec: { labels: { tier: 'gold' } },
    });

    const labelDir = path.join(dir, 'rules');
    await cp(path.join(CHART, '../rules/accelerators'), path.join(labelDir, 'accelerators'), { recursive: true });
    const coordinator = await runCoordinator('rollcall-coordinator', [`--label-dir=${labelDir}`]);
    await waitFor('its certificate and the CA', async () => (await exists(SECRET)) && (await exists(CA)), {
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

    const uninstalled = helm(['uninstall', ...release, '--timeout', '60s'], { kubeconfig });
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
    expect(await exists(`${POOL}/pool1`)).toBe(true);
  }

  test('keeps the rights of the Job when it gives up waiting for it, and the Job that comes after has its own', async () => {
    const { kubeconfig } = controlPlane;
    const release = ['rollcall', '--namespace', 'rollcall'];
    await helm(['install', ...release, CHART, '--create-namespace'], { kubeconfig });
    // No kubelet runs the pods of the Job here, so it never ends.
    await expect(helm(['uninstall', ...release, '--timeout', '3s'], { kubeconfig })).rejects.toThrow(
      /timed out|deadline/,
    );
    const needed = ['serviceaccount/rollcall-uninstall', 'configmap/rollcall-uninstall', 'role/rollcall-uninstall'];
    const more = ['clusterrolebinding/rollcall-uninstall', 'job/rollcall-uninstall'];
    await controlPlane.kubectl(['get', '--namespace', 'rollcall', ...needed, ...more]);
    // What stays is fenced.
    await createNode(controlPlane.api, 'node-2');
    const thief = await controlPlane.clientFor(await tokenOf('rollcall-uninstall'));
    const attack = (body: object) => refusalOf(thief, 'node-2', body);
    const role = { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } };
    await waitFor('the fence', async () => (await attack(role))?.includes('rollcall may not change the labels'));
    expect(await attack({ spec: { unschedulable: true } })).toContain('rollcall may not change the spec');
    thief.close();
    const late = await runCoordinator('rollcall-uninstall', ['--prune']);
    expect(await late.exited(), late.tail()).toBe(0);
    const jobUid = async () => (await controlPlane.api.get(JOB)).metadata.uid;
    const abandoned = await jobUid();
    // The same names are free again, and nothing is left in the end.
    await helm(['install', ...release, CHART], { kubeconfig });
    const uninstalled = helm(['uninstall', ...release, '--timeout', '60s'], { kubeconfig });
    await waitFor('the Job of this time', async () => (await exists(JOB)) && (await jobUid()) !== abandoned, {
      timeoutMs: 60_000,
    });
    await endJob('Complete');
    await uninstalled;
    await expectNothingLeft();
  }, 120_000);

  const CLEANUP = 'rollcall-uninstall-cleanup';
  const CONFIG_MAP = '/api/v1/namespaces/rollcall/configmaps/rollcall-uninstall';
  const RBAC = '/apis/rbac.authorization.k8s.io/v1';
  const FENCE = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/rollcall-uninstall';
  const FENCE_BINDING = FENCE.replace('policies', 'policybindings');
  const CLEANUP_DEPLOYMENT = `/apis/apps/v1/namespaces/rollcall/deployments/${CLEANUP}`;

  /** Objects of every kind whose name begins with this. */
  async function namesOf(prefix: string): Promise<string[]> {
    const kinds = await controlPlane.kubectl(['api-resources', '--verbs=list,get', '-o', 'name']);
    const names = await controlPlane.kubectl(['get', kinds.trim().split('\n').join(), '-A', '-o', 'name']);
    return names.split('\n').filter((name) => name.split('/')[1]?.startsWith(prefix));
  }

  /** Which of these requests the API server allows to an account; each `METHOD path`. None takes effect. */
  async function allowed(account: string, requests: readonly string[]): Promise<string[]> {
    const client = await controlPlane.clientFor(await tokenOf(account));
    const answers = requests.map(async (request) => {
      const [method = '', place = ''] = request.split(' ');
      // The API server ignores the query of a DELETE that has a body.
      const body = JSON.stringify(method === 'DELETE' ? { dryRun: ['All'] } : { metadata: { labels: { a: 'b' } } });
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const { status } = await client.exchange(method, `${place}?dryRun=All`, body, type);
      return status === 403 ? [] : [`${request} ${status}`];
    });
    const found = (await Promise.all(answers)).flat();
    client.close();
    return found;
  }

  /** Waits until the cleanup has read this resource so often: Deployments each 5 s until the Job has ended, then Jobs. */
  async function looks(resource: 'deployments' | 'jobs', count: number): Promise<void> {
    const total = () => controlPlane.requestTotals({ resource, verb: 'GET' });
    const before = await total();
    await waitFor(`${count} looks`, async () => (await total()) >= before + count, { timeoutMs: 90_000 });
  }

  /** Lets the account of the cleanup change none of these resources, so that it stops at the first of them. */
  async function block(resources: readonly string[]): Promise<void> {
    const rule = { apiVersions: ['*'], operations: ['UPDATE', 'DELETE'], resources };
    const policy = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'block' },
      spec: {
        matchConstraints: { resourceRules: [{ ...rule, apiGroups: ['*'] }] },
        matchConditions: [{ name: 'cleanup', expression: `request.userInfo.username.endsWith(':${CLEANUP}')` }],
        validations: [{ expression: 'false', message: `blocked at ${resources}` }],
      },
    };
    const binding = {
      ...policy,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: { policyName: 'block', validationActions: ['Deny'] },
    };
    for (const object of [policy, binding])
      await controlPlane.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(object) });
  }

  test('leaves nothing in the cluster after it gave up waiting, once the Job is done', async () => {
    const { api, kubeconfig, kubectl } = controlPlane;
    const release = ['rollcall', '--namespace', 'rollcall'];
    await helm(['install', ...release, CHART, '--create-namespace'], { kubeconfig });
    await expect(helm(['uninstall', ...release, '--timeout', '5s'], { kubeconfig })).rejects.toThrow(
      /timed out|deadline/,
    );
    const left = await namesOf('rollcall-uninstall');
    expect(left.length).toBeGreaterThanOrEqual(15);
    // Another release is installed at once.
    await helm(['install', ...release, CHART], { kubeconfig });
    const others = async () => (await namesOf('rollcall')).filter((name) => !name.includes('/rollcall-uninstall'));
    const installed = await others();

    // Neither account alone can write Nodes without the fence.
    await createNode(api, 'node-3');
    const nodes = ['node-3', 'node-3/status'].map((node) => `PATCH /api/v1/nodes/${node}`);
    const fence = [FENCE, FENCE_BINDING].flatMap((object) => [`PATCH ${object}`, `DELETE ${object}`]);
    const asOther = [
      ...['PATCH', 'PUT'].map((method) => `${method} ${CLEANUP_DEPLOYMENT}`),
      `PATCH ${JOB}`,
      'POST /api/v1/namespaces/rollcall/pods',
      'POST /api/v1/namespaces/rollcall/serviceaccounts/rollcall-uninstall/token',
    ];
    const rights = ['clusterroles', 'clusterrolebindings'].map((kind) => `PATCH ${RBAC}/${kind}/rollcall-uninstall`);
    expect(await allowed('rollcall-uninstall', [...fence, ...asOther, ...rights])).toEqual([]);
    const foreign = [
      ...[`${RBAC}/clusterroles/rollcall-coordinator`, `${RBAC}/clusterroles/view`, DEPLOYMENT],
      FENCE.replace('-uninstall', '-fence'),
      '/api/v1/namespaces/rollcall/configmaps/rollcall-coordinator',
      '/api/v1/namespaces/rollcall',
    ].flatMap((object) => [`PATCH ${object}`, `DELETE ${object}`]);
    expect(await allowed(CLEANUP, [`DELETE ${FENCE}`])).toEqual([`DELETE ${FENCE} 200`]);
    expect(await allowed(CLEANUP, [...nodes, ...asOther, ...rights, ...foreign])).toEqual([]);

    // It waits for the end of the Job.
    const prune = await runCoordinator('rollcall-uninstall', ['--prune']);
    expect(await prune.exited(), prune.tail()).toBe(0);
    const first = await runAs(CLEANUP, ['--prune-cleanup']);
    await looks('deployments', 6);
    expect(await namesOf('rollcall-uninstall')).toEqual(left);

    // Wherever it is killed, it goes on from there: before it deletes its own role, and before it deletes its own pod.
    await block(['clusterroles', 'deployments']);
    await endJob('Complete');
    // The rights go before the fence, and a stop in between leaves the fence to the next start.
    await waitFor('the rights to go', async () => !(await exists(`${RBAC}/clusterrolebindings/rollcall-uninstall`)), {
      timeoutMs: 60_000,
    });
    expect(await first.kill('SIGTERM')).toBe(0);
    expect(await exists(FENCE)).toBe(true);
    const next = await runAs(CLEANUP, ['--prune-cleanup']);
    await looks('jobs', 2);
    // An object of the same name that is newer than the end of the Job is not its own.
    const configMap = await api.get(CONFIG_MAP);
    await api.delete(CONFIG_MAP);
    await api.post(path.dirname(CONFIG_MAP), {
      ...configMap,
      kind: 'ConfigMap',
      metadata: { name: 'rollcall-uninstall' },
    });
    await next.waitForLog('Failed to clean up; trying again', 60_000);
    await next.kill('SIGKILL');
    expect(await exists(FENCE)).toBe(false);
    await api.delete(CONFIG_MAP);
    expect(await exists(`${RBAC}/clusterroles/${CLEANUP}`)).toBe(true);
    await block(['deployments']);
    const second = await runAs(CLEANUP, ['--prune-cleanup']);
    await second.waitForLog('Failed to clean up; trying again', 60_000);
    await second.kill('SIGKILL');
    await waitFor('the binding to follow', async () => !(await exists(`${RBAC}/clusterrolebindings/${CLEANUP}`)));
    expect(await namesOf('rollcall-uninstall')).toContain(`deployment.apps/${CLEANUP}`);
    await kubectl(['delete', 'validatingadmissionpolicy/block', 'validatingadmissionpolicybinding/block']);
    const third = await runAs(CLEANUP, ['--prune-cleanup']);
    expect(await third.exited(), third.tail()).toBe(0);
    await waitFor('nothing', async () => (await namesOf('rollcall-uninstall')).length === 0, { timeoutMs: 30_000 });
    expect(await others()).toEqual(expect.arrayContaining(installed));

    // After a Job that failed everything stays, with the fence.
    await expect(helm(['uninstall', ...release, '--timeout', '5s'], { kubeconfig })).rejects.toThrow();
    await endJob('Failed');
    const fourth = await runAs(CLEANUP, ['--prune-cleanup']);
    await looks('deployments', 6);
    expect(await namesOf('rollcall-uninstall')).toEqual(left);
    expect(await fourth.kill('SIGTERM')).toBe(0);
  }, 600_000);
});
