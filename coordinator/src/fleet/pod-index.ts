import { COMPONENT_LABEL } from '@rollcall/common/well-known.ts';
import type { Pod } from '../kube/objects.ts';

/** A Pod, trimmed to what decisions need. */
export type ObservedPod = {
  uid: string;
  namespace: string;
  name: string;
  /** Value of the label `component`. */
  component: string;
  node: string;
  /** Its condition Ready is True. */
  ready: boolean;
  terminating: boolean;
  podIP: string;
  hostIP: string;
};

export function observePod({ metadata, spec, status }: Pod): ObservedPod {
  return {
    uid: metadata.uid,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    component: metadata.labels?.[COMPONENT_LABEL] ?? '',
    node: spec?.nodeName ?? '',
    ready: status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false,
    terminating: metadata.deletionTimestamp !== undefined,
    podIP: status?.podIP ?? '',
    hostIP: status?.hostIP ?? '',
  };
}

/** Watched pods, found by node. Pods that are not bound to a node yet are not in it. */
export class PodIndex {
  readonly #byName = new Map<string, ObservedPod>();
  readonly #byNode = new Map<string, Map<string, ObservedPod>>();
  readonly #onChange: (previous: ObservedPod | undefined, next: ObservedPod | undefined) => void;

  /** `onChange` is called for a pod that came, went, or differs in what is kept of it. */
  constructor(onChange: (previous: ObservedPod | undefined, next: ObservedPod | undefined) => void) {
    this.#onChange = onChange;
  }

  on(node: string): ObservedPod[] {
    return [...(this.#byNode.get(node)?.values() ?? [])];
  }

  all(): Iterable<ObservedPod> {
    return this.#byName.values();
  }

  replace(pods: readonly ObservedPod[]): void {
    const listed = new Set(pods.map(keyOf));
    for (const [key, pod] of [...this.#byName]) if (!listed.has(key)) this.remove(pod);
    for (const pod of pods) this.upsert(pod);
  }

  upsert(pod: ObservedPod): void {
    if (pod.node === '') return;
    const key = keyOf(pod);
    const found = this.#byName.get(key);
    if (found && samePod(found, pod)) return;
    // Another pod of the same name, perhaps on another node, whose predecessor went unseen.
    if (found && found.uid !== pod.uid) this.remove(found);
    const previous = this.#byName.get(key);
    this.#byName.set(key, pod);
    const pods = this.#byNode.get(pod.node) ?? new Map<string, ObservedPod>();
    this.#byNode.set(pod.node, pods.set(key, pod));
    this.#onChange(previous, pod);
  }

  remove(pod: Pick<ObservedPod, 'namespace' | 'name'>): void {
    const key = keyOf(pod);
    const previous = this.#byName.get(key);
    if (!previous) return;
    this.#byName.delete(key);
    const pods = this.#byNode.get(previous.node);
    pods?.delete(key);
    if (pods?.size === 0) this.#byNode.delete(previous.node);
    this.#onChange(previous, undefined);
  }
}

function keyOf({ namespace, name }: Pick<ObservedPod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

function samePod(a: ObservedPod, b: ObservedPod): boolean {
  return (Object.keys(a) as (keyof ObservedPod)[]).every((key) => a[key] === b[key]);
}
