import type { Fleet } from '../fleet/fleet.ts';
import { handlersOf } from '../fleet/handlers-of.ts';
import { observeResourceSlice } from '../fleet/resource-slices.ts';
import type { ResourceSlice } from '../kube/objects.ts';
import { createReflector, type ReflectorOptions } from '../kube/reflector.ts';
import { unlessStopped } from './pod-watches.ts';

export type SliceWatchOptions = Omit<ReflectorOptions<never>, 'path' | 'handlers'> & { fleet: Fleet };

/** Watches ResourceSlices while somebody asks for them. Where they cannot be listed, nothing is known of them. */
export class SliceWatch {
  readonly #options: SliceWatchOptions;
  #isRunning = false;
  #stop: AbortController | undefined;

  constructor(options: SliceWatchOptions) {
    this.#options = options;
  }

  run(): void {
    this.#isRunning = true;
    if (this.#stop) this.#begin(this.#stop);
  }

  /** Whether anybody asks. */
  want(isWanted: boolean): void {
    if (isWanted === (this.#stop !== undefined)) return;
    this.#stop?.abort();
    this.#stop = isWanted ? new AbortController() : undefined;
    if (!this.#stop) this.#options.fleet.resourceSlices.forget();
    else if (this.#isRunning) this.#begin(this.#stop);
  }

  #begin(stop: AbortController): void {
    const { fleet, ...shared } = this.#options;
    const reflector = createReflector({
      ...shared,
      path: '/apis/resource.k8s.io/v1/resourceslices',
      signal: AbortSignal.any([shared.signal, stop.signal]),
      handlers: unlessStopped(handlersOf(fleet.resourceSlices), stop.signal),
      trim: (raw) => observeResourceSlice(raw as ResourceSlice),
    });
    void reflector.run();
  }
}
