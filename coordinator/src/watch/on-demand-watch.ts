import type { KubeObject } from '../kube/objects.ts';
import { createReflector, type ReflectorOptions } from '../kube/reflector.ts';
import { eventHandlersOf } from '../state/event-handlers-of.ts';
import type { OnNode } from '../state/node-indexer.ts';
import type { OnDemandObjects } from '../state/on-demand-objects.ts';
import { unlessStopped } from './pod-watches.ts';

export type OnDemandWatchOptions<T extends OnNode> = Omit<ReflectorOptions<T>, 'handlers' | 'trim'> & {
  collection: OnDemandObjects<T>;
  /** Keeps of an object what is asked for by these names. */
  observe: (raw: KubeObject, names: readonly string[]) => T;
};

/** Watches a resource while rules ask for it. Where it cannot be listed, nothing is known of it. */
export class OnDemandWatch<T extends OnNode> {
  readonly #options: OnDemandWatchOptions<T>;
  #isRunning = false;
  #asked: readonly string[] | undefined;
  #stop: AbortController | undefined;

  constructor(options: OnDemandWatchOptions<T>) {
    this.#options = options;
  }

  run(): void {
    this.#isRunning = true;
    this.#begin();
  }

  /** What of each object is asked for, by name; `undefined` while nobody asks. Other names are listed anew. */
  want(asked: readonly string[] | undefined): void {
    if (JSON.stringify(asked) === JSON.stringify(this.#asked)) return;
    this.#asked = asked;
    this.#stop?.abort();
    this.#options.collection.forget();
    if (this.#isRunning) this.#begin();
  }

  #begin(): void {
    const asked = this.#asked;
    if (!asked) return;
    const stop = new AbortController();
    this.#stop = stop;
    const { collection, observe, ...shared } = this.#options;
    const reflector = createReflector<T>({
      ...shared,
      signal: AbortSignal.any([shared.signal, stop.signal]),
      handlers: unlessStopped(eventHandlersOf(collection), stop.signal),
      transform: (raw) => observe(raw, asked),
    });
    void reflector.run();
  }
}
