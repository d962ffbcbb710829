import { collectionPath, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import type { KubeObject } from '../kube/objects.ts';
import {
  createReflector,
  type Reflector,
  type ReflectorOptions,
  type ResourceEventHandler,
} from '../kube/reflector.ts';

/** Receives the objects of each part; a `Collection`, or what is like one. */
type WatchedStore<T> = {
  handlers(part: string): ResourceEventHandler<T>;
  /** Other objects of the part are watched from now on. */
  renew?(part: string): void;
  /** The part is no longer watched. */
  forget?(part: string): void;
};

/** What is watched of a resource by one LIST and one WATCH. */
export type WatchedPart<T> = Pick<ReflectorOptions<T>, 'labelSelector' | 'fieldSelector'> & {
  /** Without it, everything is watched. */
  namespace?: string;
  /** Name of the part in the store. Defaults to the namespace. */
  part?: string;
  /** Names what is kept of objects, where that varies. Objects are listed anew when it changes. */
  kept?: string;
  transform: (raw: KubeObject) => T;
  /** Without it, this replica is ready all the same, and decides. A refusal is tried again after 30 s. Defaults to true. */
  isNeeded?: boolean;
};

/** A row of the table of watches. */
export type WatchRow<T> = Pick<ReflectorOptions<T>, 'metadataOnly' | 'pageSize' | 'onRecovered'> & {
  watched: WatchedResource;
  /** As in /readyz. Defaults to the title of the resource. */
  title?: string;
  store: WatchedStore<T>;
  /** What is wanted now. */
  parts: () => readonly WatchedPart<T>[];
  /** What is kept changes by listing again: what is known stays so until then. */
  keepsKnown?: boolean;
  /** While it is silent, the API server may be away. */
  isLifeline?: boolean;
};

/** Dependencies of every watch. */
export type WatchDependencies = Pick<
  ReflectorOptions<never>,
  'client' | 'clock' | 'random' | 'signal' | 'logger' | 'metrics'
>;

/** A right may be given at any time; until then, what is refused costs a request in so long. */
const REFUSED_RETRY_MS = 30_000;

type Running = {
  id: string;
  isNeeded: boolean;
  reflector: Reflector;
  stop: AbortController;
  /** Whether a watch before it was synced. */
  followsSynced: boolean;
};

/** A watch, whatever its objects are. */
export type AnyWatch = Pick<
  ResourceWatch<never>,
  'title' | 'run' | 'update' | 'relist' | 'isSynced' | 'isCurrent' | 'silentMs' | 'problemOf'
>;

/** Watches what a row of the table wants, and nothing else. */
export class ResourceWatch<T> {
  readonly #row: WatchRow<T>;
  readonly #dependencies: WatchDependencies;
  readonly #running = new Map<string, Running>();
  #hasBegun = false;

  constructor(row: WatchRow<T>, dependencies: WatchDependencies) {
    this.#row = row;
    this.#dependencies = dependencies;
    this.update();
  }

  get title(): string {
    return this.#row.title ?? this.#row.watched.title;
  }

  /** Resolves when what is watched by now is no longer, with the program. */
  async run(): Promise<void> {
    this.#hasBegun = true;
    await Promise.all([...this.#running.values()].map(({ reflector }) => reflector.run()));
  }

  /** Other parts may be wanted. */
  update(): void {
    const { parts, store, keepsKnown } = this.#row;
    const wanted = new Map(parts().map((part) => [part.part ?? part.namespace ?? '', part]));
    for (const [name, { stop }] of this.#running) {
      if (wanted.has(name)) continue;
      stop.abort();
      this.#running.delete(name);
      store.forget?.(name);
    }
    for (const [name, part] of wanted) {
      const before = this.#running.get(name);
      const id = JSON.stringify([part.labelSelector, part.fieldSelector, part.kept]);
      if (before?.id === id) before.isNeeded = part.isNeeded !== false;
      else if (before && keepsKnown) {
        before.id = id;
        before.reflector.relist();
      } else this.#begin(name, part, id);
    }
  }

  relist(olderThanMs: number): void {
    for (const { reflector } of this.#running.values()) reflector.relist(olderThanMs);
  }

  /** Whether what is needed was listed; a resource that need not be served, whether that was tried. */
  get isSynced(): boolean {
    return this.#needed().every(({ reflector, followsSynced }) =>
      this.#isOptional ? reflector.hasTried() : followsSynced || reflector.hasSynced(),
    );
  }

  /** Whether what is needed is no older than a watch that works, and what `relist` asked for has come or failed. */
  get isCurrent(): boolean {
    if (this.#isOptional)
      return this.#needed().every(({ reflector }) => reflector.hasRelisted() || reflector.isFailing());
    return this.isSynced && this.#needed().every(({ reflector }) => reflector.hasRelisted() && !reflector.isFailing());
  }

  /** Milliseconds since anything came, where silence says something; else 0. */
  silentMs(): number {
    return this.#row.isLifeline ? Math.max(...this.#needed().map(({ reflector }) => reflector.silentMs())) : 0;
  }

  /** Why a part may not be watched, so that nothing new is known of it; for people. */
  problemOf(part = ''): string | undefined {
    if (!this.#running.get(part)?.reflector.isRefused()) return undefined;
    const { group, resource, title, term } = this.#row.watched;
    if (part !== '')
      return `The coordinator may not watch the ${title} in ${part}: add ${part} to watchNamespaces in the chart, or grant it the verbs list and watch on these ${title}`;
    const cure = term === undefined ? '' : `add ${resource} to watchResources in the chart, or `;
    return `The coordinator may not watch ${title}: ${cure}grant it the verbs list and watch on ${resource}.${group}`;
  }

  get #isOptional(): boolean {
    return this.#row.watched.unlisted === 'empty';
  }

  #needed(): Running[] {
    return [...this.#running.values()].filter(({ isNeeded }) => isNeeded);
  }

  #begin(name: string, part: WatchedPart<T>, id: string): void {
    const { watched, store, metadataOnly, pageSize, onRecovered } = this.#row;
    const { namespace, labelSelector = '', fieldSelector, isNeeded = true } = part;
    const before = this.#running.get(name);
    const stop = new AbortController();
    before?.stop.abort();
    if (before) store.renew?.(name);
    const reflector = createReflector<T>({
      ...this.#dependencies,
      path: collectionPath(watched, namespace),
      signal: AbortSignal.any([this.#dependencies.signal, stop.signal]),
      handlers: unlessStopped(store.handlers(name), stop.signal),
      transform: part.transform,
      ...(labelSelector === '' ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(metadataOnly ? { metadataOnly } : {}),
      ...(pageSize === undefined ? {} : { pageSize }),
      ...(onRecovered ? { onRecovered } : {}),
      ...(this.#isOptional ? { absentIsEmpty: true } : {}),
      ...(watched.relistMs === undefined ? {} : { relistMs: watched.relistMs }),
      ...(isNeeded ? {} : { refusedRetryMs: REFUSED_RETRY_MS }),
    });
    const followsSynced = before !== undefined && (before.followsSynced || before.reflector.hasSynced());
    this.#running.set(name, { id, isNeeded, reflector, stop, followsSynced });
    if (this.#hasBegun) void reflector.run();
  }
}

/** A list that was under way when its watch was stopped may still come. */
function unlessStopped<T>(handlers: ResourceEventHandler<T>, signal: AbortSignal): ResourceEventHandler<T> {
  const { onListing, onReplace, onUpsert, onDelete, onLost, onRefused } = handlers;
  return {
    ...(onListing ? { onListing: () => !signal.aborted && onListing() } : {}),
    onReplace: (all) => !signal.aborted && onReplace(all),
    onUpsert: (object) => !signal.aborted && onUpsert(object),
    onDelete: (object) => !signal.aborted && onDelete(object),
    ...(onLost ? { onLost: () => !signal.aborted && onLost() } : {}),
    ...(onRefused ? { onRefused: () => !signal.aborted && onRefused() } : {}),
  };
}
