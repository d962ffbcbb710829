import type { NodeDocument } from '@rollcall/common/console.ts';
import type { ApiClient } from '../../control-plane/api-client.ts';
import { createPod, type PodObject, type PodOptions } from '../../control-plane/cluster.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import type { StandInKind } from '../../stand-ins/stand-in.ts';

type ShownService = NodeDocument['services'][number];
type Change = Omit<Partial<PodOptions>, 'name'>;

/** Creates a pod as the DaemonSet of a service would make it on the node, by default Ready. */
export function addServicePod(
  api: ApiClient,
  { name: nodeName, address, podAddress }: Pick<SimulatedNode, 'name' | 'address' | 'podAddress'>,
  service: StandInKind,
  name: string,
  change: Change = {},
): Promise<PodObject> {
  return createPod(api, {
    namespace: 'default',
    name,
    nodeName,
    labels: { component: service },
    ready: true,
    podIP: podAddress,
    hostIP: address,
    ...change,
  });
}

/** The name of the pod that a simulated node has from the beginning. */
export function firstPod({ name }: Pick<SimulatedNode, 'name'>, service: StandInKind): string {
  return `${service}-${name}`;
}

/** Deletes a pod by force: it is gone without having been terminating. */
export function forceDelete(api: ApiClient, name: string, namespace = 'default'): Promise<void> {
  return api.delete(`/api/v1/namespaces/${namespace}/pods/${name}`, { gracePeriodSeconds: 0 });
}

/** Begins the deletion of a pod. No kubelet ends it: it is terminating until it is deleted by force. */
export function terminate(api: ApiClient, name: string, namespace = 'default'): Promise<void> {
  return api.delete(`/api/v1/namespaces/${namespace}/pods/${name}`, { gracePeriodSeconds: 300 });
}

/** What the agent says, of a service of Gitpod. */
export function probeIn({ checks }: ShownService): ShownService['checks'][number] | undefined {
  return checks.find(({ name }) => name === 'probe');
}

/** What the leader shows of a service on a node. */
export async function shownService(rig: Rig, node: string, service: string): Promise<ShownService> {
  const { services } = await (await rig.leader()).explain(node);
  const shown = services.find(({ name }) => name === service);
  if (!shown) throw new Error(`${node} is shown without ${service}`);
  return shown;
}
