import { COMPONENT_LABEL } from '@rollcall/common/well-known.ts';
import type { PodOptions } from '../control-plane/cluster.ts';
import { agentServiceAccount, ownNamespace } from '../control-plane/rbac.ts';

/** Namespace of the services' pods. */
export const SERVICES_NAMESPACE = 'default';

/** Nodes are in groups, one after the other. */
export const GROUP_LABEL = 'scale.example.com/group';
export const GROUPS = 10;

const LABELS = 16;
const IMAGES = 12;
const CONDITIONS = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'];

/** A Node of a usual size, about 5,000 bytes of JSON, as its kubelet registers it: in one request, status included. */
export function nodeManifest(name: string, address: string): object {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const numbered = (count: number, key: string, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${key}-${index + 1}`, value]));
  const capacity = { cpu: '16', memory: '64Gi', pods: '110', 'ephemeral-storage': '100Gi' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'gitpod.io/workload_workspace_regular': 'true',
        [GROUP_LABEL]: groupOf(name),
        ...numbered(LABELS, 'scale.example.com/label', 'a-value-of-usual-length'),
      },
      annotations: numbered(6, 'scale.example.com/annotation', 'a value of usual length for an annotation'),
    },
    spec: { providerID: `scale:///zone-1/${name}` },
    status: {
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: name },
      ],
      capacity,
      allocatable: capacity,
      conditions: CONDITIONS.map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        reason: type === 'Ready' ? 'KubeletReady' : `KubeletHasNo${type}`,
        message: 'The kubelet says what a kubelet says about this',
        lastHeartbeatTime: now,
        lastTransitionTime: now,
      })),
      images: Array.from({ length: IMAGES }, (_, index) => ({
        names: [
          `images.example.com/some/image-${index + 1}@sha256:${String(index % 10).repeat(64)}`,
          `images.example.com/some/image-${index + 1}:v1.2.3`,
        ],
        sizeBytes: 100_000_000 + index,
      })),
    },
  };
}

/** Group of the node with this name, which ends with the node's number. */
export function groupOf(name: string): string {
  return String(Number(/\d+$/.exec(name)?.[0] ?? 0) % GROUPS);
}

export function servicePodName(service: string, node: string): string {
  return `${service}-${node}`;
}

export function servicePod(service: string, node: string, address: string): PodOptions {
  return {
    namespace: SERVICES_NAMESPACE,
    name: servicePodName(service, node),
    nodeName: node,
    labels: { [COMPONENT_LABEL]: service },
    ready: true,
    podIP: address,
    hostIP: address,
  };
}

export function agentPod(node: string, address: string): PodOptions {
  return {
    namespace: ownNamespace,
    name: `rollcall-agent-${node}`,
    nodeName: node,
    serviceAccount: agentServiceAccount,
    ready: true,
    podIP: address,
    hostIP: address,
  };
}
