import { resolveServices } from '@rollcall/coordinator/services.ts';
import { parseAllDocuments } from 'yaml';
import { applyManifest } from '../control-plane/cluster.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { fencePolicies } from '../generate/manifests/fence-policy.ts';
import { DEFAULT_SETTINGS, type PolicySettings } from '../generate/manifests/settings.ts';

export type FenceSettings = Partial<PolicySettings>;

/** The fence for Gitpod in another namespace, or for services that the configuration names besides those of Gitpod. */
export function fenceForServices(change: Partial<Parameters<typeof resolveServices>[0]>): FenceSettings {
  const usual = { namespace: 'default', wsDaemonPort: 8080, registryFacadePort: 31750, services: [] };
  return { services: resolveServices({ ...usual, ...change }) };
}

/**
 * Installs the fence that is shipped, so that everything a test lets the coordinator do is also what the fence lets
 * through. `pools` are the policies that need the CRD of NodePoolLabelSets to be there.
 */
export async function installFence(
  controlPlane: ControlPlane,
  part: 'nodes' | 'pools',
  settings: FenceSettings = {},
): Promise<void> {
  const documents = parseAllDocuments(fencePolicies({ ...DEFAULT_SETTINGS, ...settings }));
  const objects = documents.map((document) => document.toJS() as { metadata: { name: string } });
  const wanted = objects.filter(({ metadata }) => metadata.name.endsWith('-pools') === (part === 'pools'));
  await applyManifest(controlPlane, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: wanted }));
}
