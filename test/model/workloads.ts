import type { KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import type { Pod } from '@rollcall/coordinator/kube/objects.ts';
import { anotherUid, blockedByBudget, noSuchPod } from './api-server/refusals.ts';

/** A pod that needs a label of its node. */
export type Workload = {
  name: string;
  uid: string;
  node: string;
  key: string;
  value: string;
  /** A PodDisruptionBudget refuses its eviction. */
  isBlocked: boolean;
};

const NAMESPACE = 'jobs';
const EVICTION = new RegExp(`^/api/v1/namespaces/${NAMESPACE}/pods/([^/]+)/eviction$`);

/** Pods as the API server lists and evicts them. */
export class Workloads {
  readonly pods = new Map<string, Workload>();
  onEvicted: (pod: Workload) => void = () => {};

  /** Answers a request about pods. Throws KubeStatusError. */
  answer({ method, path, query = {}, body }: KubeRequest): unknown {
    const [, name] = EVICTION.exec(path) ?? [];
    if (method === 'POST' && name !== undefined) return this.#evict(name, body as EvictionBody);
    if (method !== 'GET' || path !== '/api/v1/pods') throw new Error(`The model knows no ${method} ${path}`);
    const node = query['fieldSelector']?.replace('spec.nodeName=', '');
    const items = [...this.pods.values()].filter((pod) => pod.node === node).map(podOf);
    return { metadata: { resourceVersion: '1' }, items };
  }

  #evict(name: string, { deleteOptions }: EvictionBody): object {
    const pod = this.pods.get(name);
    if (!pod) throw noSuchPod(name);
    if (deleteOptions.preconditions.uid !== pod.uid) throw anotherUid(name);
    if (pod.isBlocked) throw blockedByBudget(name);
    this.pods.delete(name);
    this.onEvicted(pod);
    return {};
  }
}

type EvictionBody = { deleteOptions: { preconditions: { uid: string } } };

function podOf({ name, uid, node, key, value }: Workload): Pod {
  return {
    metadata: { name, uid, namespace: NAMESPACE, resourceVersion: '1' },
    spec: { nodeName: node, nodeSelector: { [key]: value } },
    status: { phase: 'Running' },
  };
}
