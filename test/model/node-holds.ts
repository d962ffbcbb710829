import { selects } from '@rollcall/coordinator/model/label-selector.ts';
import type { HoldingPod } from '@rollcall/coordinator/state/holds/holding-pod.ts';
import type { Holds } from '@rollcall/coordinator/state/holds/holds.ts';
import { type HeldPods, type ObservedNodeHold, observeNodeHold } from '@rollcall/coordinator/state/holds/node-hold.ts';
import type { LaggingLine } from './api-server/watch.ts';

export const HOLD_NAMES = ['h0', 'h1'] as const;
export const COMPONENTS = ['build', 'database'] as const;
const NAMESPACE = 'builds';

/** A NodeHold as it is stored. */
export type NodeHoldObject = {
  name: string;
  uid: string;
  generation: number;
  /** What its pods have to be; any of the namespace where it is left out. */
  component?: string | undefined;
  /** It has a field that no version knows. */
  unknownField: boolean;
};

export type HeldPod = { name: string; uid: string; node: string; component: string };

/** The object as a watch shows it. */
export function observedHold({ name, uid, generation, component, unknownField }: NodeHoldObject): ObservedNodeHold {
  const selector = component === undefined ? {} : { matchLabels: { component } };
  const spec = { pods: { namespace: NAMESPACE, selector }, ...(unknownField ? { unheardOf: true } : {}) };
  return observeNodeHold({ metadata: { name, uid, generation, resourceVersion: '' }, spec });
}

/** §10: such a pod is on the node and has not ended. A field that this version does not know keeps the nodes. */
export function holdOn(
  { holds, heldPods }: { holds: ReadonlyMap<string, NodeHoldObject>; heldPods: ReadonlyMap<string, HeldPod> },
  node: string,
): 'held' | 'unknown' | 'free' {
  const there = [...heldPods.values()].filter((pod) => pod.node === node);
  const isNamedBy = ({ component, unknownField }: NodeHoldObject) =>
    !unknownField && there.some((pod) => component === undefined || component === pod.component);
  if ([...holds.values()].some(isNamedBy)) return 'held';
  return [...holds.values()].some(({ unknownField }) => unknownField) ? 'unknown' : 'free';
}

/** The watch of the pods that NodeHolds name: one of other pods takes its place when these change. */
export class HeldPodWatch {
  readonly #pods: () => Iterable<HeldPod>;
  readonly #newLine: () => LaggingLine;
  #watch: { line: LaggingLine; wanted: string; tell: (pod: HeldPod, gone: boolean) => void } | undefined;

  constructor(pods: () => Iterable<HeldPod>, newLine: () => LaggingLine) {
    this.#pods = pods;
    this.#newLine = newLine;
  }

  /** Watches these pods and no others. */
  want(held: readonly HeldPods[], index: Holds['pods']): void {
    const wanted = JSON.stringify(held);
    if (this.#watch?.wanted === wanted) return;
    this.#watch = undefined;
    if (held.length === 0) {
      index.forget(NAMESPACE);
      return;
    }
    index.renew(NAMESPACE);
    const handlers = index.handlers(NAMESPACE);
    const isNamed = ({ labels }: HoldingPod) => held.some(({ selector }) => selects(selector, labels));
    const line = this.#newLine();
    const watch = { line, wanted, tell };
    const isStopped = () => this.#watch !== watch;
    function tell(pod: HeldPod, gone: boolean): void {
      const one = observedPod(pod);
      if (isNamed(one)) line.send(() => isStopped() || (gone ? handlers.onDelete(one) : handlers.onUpsert(one)));
    }
    this.#watch = watch;
    const listed = [...this.#pods()].map(observedPod).filter(isNamed);
    line.send(() => isStopped() || handlers.onReplace(listed));
  }

  tell(pod: HeldPod, gone: boolean): void {
    this.#watch?.tell(pod, gone);
  }
}

function observedPod({ name, uid, node, component }: HeldPod): HoldingPod {
  return { uid, namespace: NAMESPACE, name, labels: { component }, node };
}
