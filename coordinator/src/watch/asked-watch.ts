import type { KubeObject } from '../kube/objects.ts';
import { createReflector, type ReflectorOptions } from '../kube/reflector.ts';
import type { AskedObjects } from '../state/asked-objects.ts';
import { handlersOf } from '../state/handlers-of.ts';
import type { Placed } from '../state/node-index.ts';
import { unlessStopped } from './pod-watches.ts';

export type AskedWatchOptions<T extends Placed> = Omit<ReflectorOptions<T>, 'handlers' | 'trim'> & {
  collection: AskedObjects<T>;
  /** Keeps of an object what is asked for by these names. */
  observe: (raw: KubeObject, names: readonly string[]) => T;
};

/** Watches a resource while rules ask for it. Where it cannot be listed, nothing is known of it. */
export class AskedWatch<T extends Placed> {
  readonly #options: AskedWatchOptions<T>;
  #isRunning = false;
  #asked: readonly string[] | undefined;
  #stop: AbortController | undefined;

  constructor(options: AskedWatchOptions<T>) {
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
      handlers: unlessStopped(handlersOf(collection), stop.signal),
      trim: (raw) => observe(raw, asked),
    });
    void reflector.run();
  }
}
