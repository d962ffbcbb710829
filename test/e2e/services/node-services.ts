import path from 'node:path';
import type { ApiClient, KubeObject } from '../../control-plane/api-client.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../control-plane/wait-for.ts';

const CRDS = path.resolve(import.meta.dirname, '../../../deploy/crds');
export const NODE_SERVICES = '/apis/rollcall.dev/v1alpha1/nodeservices';

type Cluster = Pick<ControlPlane, 'api' | 'kubectl'>;

/** Applies a CRD as it is shipped, and waits until its objects are served. */
export async function applyCrd(controlPlane: Cluster, plural: 'nodeservices' | 'nodeholds'): Promise<void> {
  await controlPlane.kubectl(['apply', '-f', path.join(CRDS, `${plural}.yaml`)]);
  const wait = ['wait', '--for=condition=Established', '--timeout=30s', `crd/${plural}.rollcall.dev`];
  await controlPlane.kubectl(wait);
  await waitFor(`${plural} to be served`, () => controlPlane.api.list(`/apis/rollcall.dev/v1alpha1/${plural}`));
}

export function applyNodeServiceCrd(controlPlane: Cluster): Promise<void> {
  return applyCrd(controlPlane, 'nodeservices');
}

export function nodeService(name: string, spec: object): KubeObject {
  return { apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodeService', metadata: { name }, spec };
}

export type ServiceStatus = {
  nodes?: { selected: number; ready: number; notReady: number; unknown: number };
  observedGeneration?: number;
  conditions?: { type: string; status: string; reason: string; message: string }[];
};

/** The condition of a NodeService, as `STATUS REASON: MESSAGE`; empty before a coordinator wrote any. */
export async function conditionOf(api: ApiClient, name: string, type: 'Ready' | 'NodesReady'): Promise<string> {
  const found = (await statusOf(api, name)).conditions?.find((each) => each.type === type);
  return found && found.reason !== 'Pending' ? `${found.status} ${found.reason}: ${found.message}` : '';
}

export async function statusOf(api: ApiClient, name: string): Promise<ServiceStatus> {
  const object = await api.get<KubeObject & { status?: ServiceStatus }>(`${NODE_SERVICES}/${name}`);
  return object.status ?? {};
}
