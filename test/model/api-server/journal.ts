import { KubeStatusError } from '@rollcall/coordinator/kube/client.ts';
import type { KubeObject } from '@rollcall/coordinator/kube/objects.ts';

export type JournalEvent<T> = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T };

type Watcher<T> = (event: JournalEvent<T>) => void;

/** More than a watch misses in a minute. */
const EVENTS_MAX = 500;

/** What happened to a collection, for watches: as etcd keeps it, until it is compacted. */
export class Journal<T extends KubeObject> {
  #events: JournalEvent<T>[] = [];
  #compactedTo = 0;
  readonly #watchers = new Set<Watcher<T>>();

  add(event: JournalEvent<T>): void {
    this.#events.push(event);
    if (this.#events.length > EVENTS_MAX) this.compact(EVENTS_MAX / 2);
    for (const tell of [...this.#watchers]) tell(event);
  }

  /** Forgets all but the last few events, so that a watch that resumes from before is told to list. */
  compact(keep = 0): void {
    const gone = this.#events.splice(0, this.#events.length - keep);
    this.#compactedTo = gone.reduce((max, { object }) => Math.max(max, versionOf(object)), this.#compactedTo);
  }

  /** Calls `tell` for what came after `version`, and from then on. Throws KubeStatusError (410). */
  watch(version: number, tell: Watcher<T>): () => void {
    if (version < this.#compactedTo) throw new KubeStatusError(410, { code: 410, reason: 'Expired' }, undefined, {});
    for (const event of this.#events) if (versionOf(event.object) > version) tell(event);
    this.#watchers.add(tell);
    return () => this.#watchers.delete(tell);
  }

  get watchers(): number {
    return this.#watchers.size;
  }
}

function versionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion);
}
