import { fencePolicies } from '../../deploy/source/manifests/fence-policy.ts';
import { DEFAULT_SETTINGS, keysOfServices, type PolicySettings } from '../../deploy/source/manifests/settings.ts';
import { applyManifest } from '../control-plane/cluster.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';

export type FenceSettings = Partial<PolicySettings>;

/** The fence for Gitpod in another namespace, or for further services in the configuration. */
export function fenceForServices(change: Parameters<typeof keysOfServices>[0]): FenceSettings {
  return { services: keysOfServices(change) };
}

/**
 * Installs the fence that is shipped, so that everything a test lets the coordinator do is also what the fence lets
 * through.
 */
export async function installFence(
  controlPlane: Pick<ControlPlane, 'kubectl'>,
  settings: FenceSettings = {},
): Promise<void> {
  await applyManifest(controlPlane, fencePolicies({ ...DEFAULT_SETTINGS, ...settings }));
}
