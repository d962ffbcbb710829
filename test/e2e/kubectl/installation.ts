import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CHART } from '../../chart/render.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNode, createPod, createServiceAccount, requestToken, setPodReady } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { publishedCa } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { ensureHelm } from '../../helm/helm.ts';
import { Coordinator, coordinatorPorts } from '../../rig/coordinator.ts';

export const NAMESPACE = 'rollcall';
export const NODES = ['node-1', 'node-2'] as const;
export const COORDINATORS = ['rollcall-coordinator-a', 'rollcall-coordinator-b'] as const;

type Template = { metadata: object; spec: object };
type Workload = KubeObject & { spec: { template: Template }; metadata: { generation: number } };

/**
 * The chart, installed by Helm on a real API server. The test does what controllers and kubelets would: it makes the
 * pods of the Deployment and the DaemonSet, and says that they are Ready. A real coordinator leads under the name of
 * one of them, with the configuration and the rights of the release.
 */
export class Installation {
  readonly controlPlane: ControlPlane;
  readonly coordinator: Coordinator;
  readonly #dir: string;

  private constructor(controlPlane: ControlPlane, coordinator: Coordinator, dir: string) {
    this.controlPlane = controlPlane;
    this.coordinator = coordinator;
    this.#dir = dir;
  }

  /** `values`: of the chart. */
  static async start(values: object): Promise<Installation> {
    const [helm, controlPlane] = await Promise.all([ensureHelm(), startControlPlane()]);
    const { api, kubeconfig } = controlPlane;
    const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-installation-'));
    await createServiceAccount(api, 'default', 'default');
    for (const name of NODES) await createNode(api, name);
    const release = ['install', 'rollcall', CHART, '--namespace', NAMESPACE, '--create-namespace', '--values', '-'];
    await helm(release, { kubeconfig, stdin: JSON.stringify(values) });
    const config = `/api/v1/namespaces/${NAMESPACE}/configmaps/rollcall-coordinator`;
    const { data } = await api.get<KubeObject & { data: Record<string, string> }>(config);
    const file = path.join(dir, 'coordinator.yaml');
    await writeFile(file, data['coordinator.yaml'] ?? '');
    const token = await requestToken(api, { namespace: NAMESPACE, serviceAccount: 'rollcall-coordinator' });
    const coordinator = new Coordinator({
      name: COORDINATORS[0],
      kubeconfig: await controlPlane.kubeconfigFor(token),
      ports: await coordinatorPorts(),
      args: [`--config=${file}`],
    });
    const installation = new Installation(controlPlane, coordinator, dir);
    await installation.#rollOut();
    await waitFor('the coordinator to lead', () => coordinator.leads(), { timeoutMs: 60_000 });
    await publishedCa(api);
    return installation;
  }

  async stop(): Promise<void> {
    await this.coordinator.destroy();
    await this.controlPlane.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** A pod of Gitpod, in the namespace that it is looked for in or in another. */
  async gitpodPod(namespace: string): Promise<void> {
    const labels = { component: 'ws-daemon' };
    await createPod(this.controlPlane.api, { namespace, name: 'ws-daemon', nodeName: NODES[0], labels, ready: true });
  }

  async removeGitpodPod(namespace: string): Promise<void> {
    await this.controlPlane.api.delete(`/api/v1/namespaces/${namespace}/pods/ws-daemon?gracePeriodSeconds=0`);
  }

  async #rollOut(): Promise<void> {
    const { api } = this.controlPlane;
    const [agent, coordinator] = ['daemonsets/rollcall-agent', 'deployments/rollcall-coordinator'];
    const read = (which: string) => api.get<Workload>(`/apis/apps/v1/namespaces/${NAMESPACE}/${which}`);
    const { spec: agents } = await read(agent);
    for (const node of NODES) await this.#podOf(agents.template, `rollcall-agent-${node}`, node);
    const { spec: coordinators } = await read(coordinator);
    for (const [index, name] of COORDINATORS.entries())
      await this.#podOf(coordinators.template, name, NODES[index] ?? '');
    const say = (which: string, status: object) =>
      api.patch(`/apis/apps/v1/namespaces/${NAMESPACE}/${which}/status`, { status });
    const all = { currentNumberScheduled: 2, numberMisscheduled: 0, desiredNumberScheduled: 2, numberReady: 2 };
    await say(agent, all);
    await say(coordinator, { replicas: 2, readyReplicas: 2, availableReplicas: 2 });
  }

  async #podOf({ metadata, spec }: Template, name: string, nodeName: string): Promise<void> {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name }, spec: { ...spec, nodeName } };
    await this.controlPlane.api.post(`/api/v1/namespaces/${NAMESPACE}/pods`, pod);
    await setPodReady(this.controlPlane.api, NAMESPACE, name, true);
  }
}
