import type { ApiClient } from '../control-plane/api-client.ts';
import { createServiceAccount } from '../control-plane/cluster.ts';
import { type ControlPlaneOptions, startControlPlane } from '../control-plane/control-plane.ts';
import { installAccess } from '../control-plane/rbac.ts';
import { type FenceSettings, installFence } from './fence.ts';

/** The cluster that a rig stands in, with rollcall's namespace, accounts and rights installed. */
export type RigCluster = {
  api: ApiClient;
  /** Path of a kubeconfig with the coordinator's own token. */
  coordinatorKubeconfig: string;
  /** For a person who looks around: the program, and the kubeconfig with every right. */
  kubectlPath: string;
  kubeconfig: string;
  /** Removes what was installed, or the whole cluster. */
  stop: () => Promise<void>;
};

export type EmbeddedCluster = RigCluster & {
  controlPlane: Awaited<ReturnType<typeof startControlPlane>>;
  coordinatorToken: string;
};

/**
 * A control plane of its own, gone when it is stopped. The coordinator is behind the fence that is shipped, unless a
 * test is about something that the fence is there to refuse.
 */
export async function embeddedCluster(
  fence: FenceSettings | 'no fence' = {},
  options: ControlPlaneOptions = {},
): Promise<EmbeddedCluster> {
  const controlPlane = await startControlPlane(options);
  const { api, kubeconfig, binaries } = controlPlane;
  await createServiceAccount(api, 'default', 'default');
  const access = await installAccess(controlPlane);
  if (fence !== 'no fence') await installFence(controlPlane, fence);
  return { api, ...access, kubectlPath: binaries.kubectl, kubeconfig, controlPlane, stop: () => controlPlane.stop() };
}
