import { collectionPath, WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import type { Pod } from '../kube/objects.ts';
import {
  createReflector,
  type Reflector,
  type ReflectorOptions,
  type ResourceEventHandler,
} from '../kube/reflector.ts';
import { formatSelector, formatUnion, keysOfSelector, type LabelSelector, selects } from '../model/label-selector.ts';
import type { OnNode } from '../state/node-indexer.ts';
import { share } from '../state/observed-pod.ts';
import type { PodsByNamespace } from '../state/pods-by-namespace.ts';

type Labelled = OnNode & { labels: Readonly<Record<string, string>> };

export type PodWatchOptions<T extends Labelled> = Omit<
  ReflectorOptions<never>,
  'path' | 'handlers' | 'transform' | 'labelSelector'
> & {
  index: PodsByNamespace<T & Labelled>;
  observe: (pod: Pod) => T;
  /** Whether this replica is not ready without them; a refusal is then tried again as any other failure. */
  isNeeded?: (namespace: string) => boolean;
};

/** A right may be given at any time; until then, what is refused costs a request in so long. */
export const REFUSED_RETRY_MS = 30_000;

type PodWatch = {
  reflector: Reflector;
  selectors: string;
  stop: AbortController;
  /** Whether a watch before it in the namespace was synced. */
  followsSynced: boolean;
};

/** Watches pods, each namespace once however many ask for them. */
export class PodWatches<T extends Labelled> {
  readonly #options: PodWatchOptions<T>;
  readonly #watches = new Map<string, PodWatch>();
  #isRunning = false;

  constructor(options: PodWatchOptions<T>) {
    this.#options = options;
  }

  run(): void {
    this.#isRunning = true;
    for (const { reflector } of this.#watches.values()) void reflector.run();
  }

  /** Watches these, and no others. */
  want(all: readonly { namespace: string; selector: LabelSelector }[]): void {
    const wanted = Map.groupBy(all, ({ namespace }) => namespace);
    for (const [namespace, { stop }] of this.#watches) {
      if (wanted.has(namespace)) continue;
      stop.abort();
      this.#watches.delete(namespace);
      this.#options.index.forget(namespace);
    }
    for (const [namespace, pods] of wanted) {
      this.#watch(
        namespace,
        pods.map(({ selector }) => selector),
      );
    }
  }

  relist(olderThanMs: number): void {
    for (const { reflector } of this.#watches.values()) reflector.relist(olderThanMs);
  }

  hasRelisted(namespace: string): boolean {
    return this.#watches.get(namespace)?.reflector.hasRelisted() !== false;
  }

  wasSynced(namespace: string): boolean {
    const watch = this.#watches.get(namespace);
    return !watch || watch.followsSynced || watch.reflector.hasSynced();
  }

  isFailing(namespace: string): boolean {
    return this.#watches.get(namespace)?.reflector.isFailing() === true;
  }

  /** Why the pods of a namespace may not be watched, so that nothing new is known of them; for people. */
  problemOf(namespace: string): string | undefined {
    if (!this.#watches.get(namespace)?.reflector.isRefused()) return undefined;
    const cure = `add ${namespace} to watchNamespaces in the chart, or grant it the verbs list and watch on these pods`;
    return `The coordinator may not watch the pods in ${namespace}: ${cure}`;
  }

  #watch(namespace: string, all: readonly LabelSelector[]): void {
    const { index, observe, isNeeded, ...shared } = this.#options;
    const distinct = new Map(all.map((selector) => [formatSelector(selector), selector]));
    const selectors = JSON.stringify([...distinct.keys()].sort());
    const before = this.#watches.get(namespace);
    if (before?.selectors === selectors) return;
    const followsSynced = before !== undefined && this.wasSynced(namespace);
    before?.stop.abort();
    const stop = new AbortController();
    const labelSelector = formatUnion([...distinct.values()]);
    const keys = new Set([...distinct.values()].flatMap(keysOfSelector));
    const reflector = createReflector<T>({
      ...shared,
      ...watchOf(WATCHED.pods, namespace),
      ...(labelSelector === '' ? {} : { labelSelector }),
      ...(isNeeded?.(namespace) ? {} : { refusedRetryMs: REFUSED_RETRY_MS }),
      signal: AbortSignal.any([shared.signal, stop.signal]),
      handlers: unlessStopped(index.handlers(namespace), stop.signal),
      transform: (raw) => only(observe(raw as Pod), [...distinct.values()], keys),
    });
    this.#watches.set(namespace, { reflector, selectors, stop, followsSynced });
    if (this.#isRunning) void reflector.run();
  }
}

/**
 * Treats a pod that no selector asks for like a pod on no node. Of its labels, those that selectors name are kept: a change
 * of another one changes nothing.
 */
function only<T extends Labelled>(pod: T, selectors: readonly LabelSelector[], keys: ReadonlySet<string>): T {
  const isSelected = selectors.some((selector) => selects(selector, pod.labels));
  const labels = share(Object.fromEntries(Object.entries(pod.labels).filter(([key]) => keys.has(key))));
  return { ...pod, labels, ...(isSelected ? {} : { node: '' }) };
}

/** A list that was under way when its watch was stopped may still come. */
export function unlessStopped<T>(handlers: ResourceEventHandler<T>, signal: AbortSignal): ResourceEventHandler<T> {
  const { onReplace, onUpsert, onDelete, onLost } = handlers;
  return {
    onReplace: (all) => !signal.aborted && onReplace(all),
    onUpsert: (pod) => !signal.aborted && onUpsert(pod),
    onDelete: (pod) => !signal.aborted && onDelete(pod),
    ...(onLost ? { onLost: () => !signal.aborted && onLost() } : {}),
  };
}

type Common = Pick<ReflectorOptions<never>, 'path' | 'absentIsEmpty' | 'relistMs'>;

/** How a resource is watched, by the table of watched resources; in one namespace, or everywhere. */
export function watchOf(watched: WatchedResource, namespace?: string): Common {
  const { unlisted, relistMs } = watched;
  return {
    path: collectionPath(watched, namespace),
    ...(unlisted === 'empty' ? { absentIsEmpty: true } : {}),
    ...(relistMs === undefined ? {} : { relistMs }),
  };
}

/** Why nothing new is known of a resource that a check asks for; for people. */
export function notPermitted({ group, resource, title, term }: WatchedResource): string {
  const cure = term === undefined ? '' : `add ${resource} to watchResources in the chart, or `;
  return `The coordinator may not watch ${title}: ${cure}grant it the verbs list and watch on ${resource}.${group}`;
}
