import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ApiError, type KubeObject } from '../control-plane/api-client.ts';
import { createServiceAccount, requestToken } from '../control-plane/cluster.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm } from '../helm/helm.ts';
import type { RigCluster } from '../rig/cluster.ts';
import { Program } from '../rig/program.ts';

const RELEASE = ['rollcall', '--namespace', 'rollcall'];
const VALUES = ['--set', 'gitpod.enabled=true'];
const JOB = '/apis/batch/v1/namespaces/rollcall/jobs/rollcall-uninstall';
const DEPLOYMENT = '/apis/apps/v1/namespaces/rollcall/deployments/rollcall-coordinator';

/** A cluster with the rights, CRDs and policies of a Helm release. The caller runs the pods. */
export type ReleasedCluster = RigCluster & {
  kubectl: (args: readonly string[], options?: { stdin?: string }) => Promise<string>;
  /** Installs the chart of a tree, or changes the release. Returns what Helm said. */
  install: (tree: string) => Promise<string>;
  upgrade: (tree: string, args?: readonly string[]) => Promise<string>;
  rollback: () => Promise<string>;
  /** Uninstalls, with the Job's container run as a process. `stopPrograms` is called once the pods would be gone. */
  uninstall: (dir: string, stopPrograms: () => Promise<void>) => Promise<void>;
};

export async function releasedCluster(firstTree: string): Promise<ReleasedCluster> {
  const [helm, controlPlane] = await Promise.all([ensureHelm(), startControlPlane()]);
  const { api, kubeconfig, kubectl } = controlPlane;
  const install = (tree: string) =>
    helm(['install', ...RELEASE, path.join(tree, 'deploy/chart'), ...VALUES, '--create-namespace'], { kubeconfig });
  await createServiceAccount(api, 'default', 'default');
  await install(firstTree);
  const tokenOf = (serviceAccount: string) =>
    requestToken(api, { namespace: 'rollcall', serviceAccount, expirationSeconds: 86_400 });

  async function uninstall(dir: string, stopPrograms: () => Promise<void>): Promise<void> {
    const exists = (object: string) =>
      api.get(object).then(
        () => true,
        (error: unknown) => {
          if (error instanceof ApiError && error.status === 404) return false;
          throw error;
        },
      );
    const uninstalled = helm(['uninstall', ...RELEASE, '--timeout', '120s'], { kubeconfig });
    await waitFor('the Deployment to go', async () => !(await exists(DEPLOYMENT)), { timeoutMs: 60_000 });
    await stopPrograms();
    await waitFor('the Job', () => exists(JOB), { timeoutMs: 60_000 });
    const { data } = await api.get<KubeObject & { data: Record<string, string> }>(
      '/api/v1/namespaces/rollcall/configmaps/rollcall-uninstall',
    );
    const config = path.join(dir, 'prune.yaml');
    await writeFile(config, data['coordinator.yaml'] ?? '');
    const args = [
      `--config=${config}`,
      `--kubeconfig=${await controlPlane.kubeconfigFor(await tokenOf('rollcall-uninstall'))}`,
      '--prune',
    ];
    const prune = new Program('coordinator', {
      args,
      env: { POD_NAMESPACE: 'rollcall', POD_NAME: 'rollcall-uninstall' },
    });
    if ((await prune.exited()) !== 0) throw new Error(`--prune failed:\n${prune.tail()}`);
    const now = new Date().toISOString();
    const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: now });
    const conditions = [condition('SuccessCriteriaMet'), condition('Complete')];
    await api.patch(`${JOB}/status`, { status: { startTime: now, completionTime: now, succeeded: 1, conditions } });
    await uninstalled;
  }

  return {
    api,
    kubectl,
    coordinatorKubeconfig: await controlPlane.kubeconfigFor(await tokenOf('rollcall-coordinator')),
    kubectlPath: controlPlane.binaries.kubectl,
    kubeconfig,
    stop: () => controlPlane.stop(),
    install,
    upgrade: (tree, args = []) =>
      helm(['upgrade', ...RELEASE, path.join(tree, 'deploy/chart'), ...VALUES, ...args], { kubeconfig }),
    rollback: () => helm(['rollback', ...RELEASE], { kubeconfig }),
    uninstall,
  };
}
