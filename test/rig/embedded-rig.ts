import { readyLabel } from '@rollcall/common/well-known.ts';
import type { ControlPlane, ControlPlaneOptions } from '../control-plane/control-plane.ts';
import { embeddedCluster } from './cluster.ts';
import type { FenceSettings } from './fence.ts';
import { Rig, type RigOptions } from './rig.ts';

export const WS_DAEMON_READY = readyLabel('ws-daemon', 'default');
export const REGISTRY_FACADE_READY = readyLabel('registry-facade', 'default');

export type EmbeddedRig = {
  rig: Rig;
  controlPlane: ControlPlane;
  /** PATCHes of Nodes that the API server has counted since its start, applies included. */
  nodePatches: () => Promise<number>;
  stop: () => Promise<void>;
};

export type EmbeddedRigOptions = Omit<RigOptions, 'cluster'> &
  Pick<ControlPlaneOptions, 'featureGates'> & {
    fence?: FenceSettings | 'no fence';
    /** Is done before a coordinator starts, which takes its time to look again for a CRD that it has not found. */
    prepare?: (controlPlane: ControlPlane) => Promise<void>;
  };

/** A rig on a control plane of its own: what most end-to-end tests need. */
export async function startEmbeddedRig({
  fence,
  featureGates = {},
  prepare = async () => {},
  ...options
}: EmbeddedRigOptions): Promise<EmbeddedRig> {
  const cluster = await embeddedCluster(fence, { featureGates });
  const { controlPlane } = cluster;
  const count = (verb: string) => controlPlane.requestTotals({ verb, resource: 'nodes', subresource: '' });
  try {
    await prepare(controlPlane);
    const rig = await Rig.start({ ...options, cluster });
    return {
      rig,
      controlPlane,
      nodePatches: async () => (await count('PATCH')) + (await count('APPLY')),
      async stop() {
        await rig.stop();
        await cluster.stop();
      },
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
