import { WATCHED } from '@rollcall/common/watched-resources.ts';
import type { NodeHold } from '../kube/objects.ts';
import { createReflector, type Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { type HoldingPod, NOT_ENDED, observeHoldingPod } from '../state/holds/holding-pod.ts';
import type { Holds } from '../state/holds/holds.ts';
import { type ObservedNodeHold, observeNodeHold } from '../state/holds/node-hold.ts';
import { PodWatches } from './pod-watches.ts';
import { watchOf } from './watch-of.ts';

export type HoldWatchOptions = Omit<ReflectorOptions<never>, 'path' | 'handlers'> & { holds: Holds };

/** Watches the NodeHolds, and of the pods that they name those that have not ended. */
export class HoldWatches {
  readonly #holds: Holds;
  /** Of the NodeHolds. */
  readonly objects: Reflector;
  readonly #pods: PodWatches<HoldingPod>;

  constructor({ holds, ...shared }: HoldWatchOptions) {
    this.#holds = holds;
    this.objects = createReflector({
      ...shared,
      ...watchOf(WATCHED.nodeHolds),
      handlers: holds.handlers,
      transform: (raw) => observeNodeHold(raw as NodeHold),
    });
    this.#pods = new PodWatches({
      ...shared,
      index: holds.pods,
      fieldSelector: NOT_ENDED,
      observe: observeHoldingPod,
    });
  }

  /** Until the signal aborts. */
  run(): Promise<void> {
    this.#pods.run();
    return this.objects.run();
  }

  /** The NodeHolds are others than before. */
  update(): void {
    this.#pods.want(this.#holds.wanted());
  }

  /** Why nothing is known of the pods of a NodeHold; for people. */
  problemOf({ pods }: ObservedNodeHold): string | undefined {
    return pods && this.#pods.problemOf(pods.namespace);
  }
}
