import { type KubeRequest, KubeStatusError } from '../../kube/client.ts';
import type { ObjectMeta } from '../../kube/objects.ts';
import type { Lease } from '../lease-record.ts';

/** For tests of the election: a Lease kept in memory. */

type StoredEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: Lease };

/** The Lease as an API server keeps it: versions, compare-and-swap, a history for watches. */
export class LeaseServer {
  #lease: Lease | undefined;
  #revision = 100;
  #compactedTo = 0;
  #history: StoredEvent[] = [];
  readonly #watchers = new Set<(event: StoredEvent) => void>();

  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** Edits the Lease as a person does with kubectl. */
  edit(change: (lease: Lease) => void): void {
    if (!this.#lease) return;
    const copy = structuredClone(this.#lease);
    change(copy);
    this.#write('MODIFIED', copy);
  }

  delete(): void {
    if (!this.#lease) return;
    this.#write('DELETED', structuredClone(this.#lease));
    this.#lease = undefined;
  }

  /** Forgets the history, so that a watch that resumes is told to list. */
  compact(): void {
    this.#compactedTo = this.#revision;
    this.#history = [];
  }

  answer(request: KubeRequest): unknown {
    if (request.method === 'PATCH') {
      if (!this.#lease)
        this.#write('ADDED', { metadata: { ...identityOf(request), uid: `uid-${this.#revision}` }, spec: {} });
      return this.#lease;
    }
    if (request.method === 'PUT') return this.#replace(request.body as Lease);
    if (request.query?.['limit'] !== undefined) {
      return { metadata: { resourceVersion: String(this.#revision) }, items: this.#lease ? [this.#lease] : [] };
    }
    if (!this.#lease) throw refusal(404, 'NotFound');
    return this.#lease;
  }

  /** Calls `onEvent` for what came after the version that the request names, and from then on. */
  watch({ query = {} }: Pick<KubeRequest, 'query'>, onEvent: (event: StoredEvent) => void): () => void {
    const version = query['resourceVersion'] ?? '0';
    if (Number(version) < this.#compactedTo) throw refusal(410, 'Expired');
    const missed = this.#history.filter(({ object }) => Number(object.metadata.resourceVersion) > Number(version));
    for (const event of missed) onEvent(event);
    this.#watchers.add(onEvent);
    return () => this.#watchers.delete(onEvent);
  }

  #replace(body: Lease): Lease {
    const current = this.#lease;
    const { uid, resourceVersion } = body.metadata;
    if (!current || uid !== current.metadata.uid || resourceVersion !== current.metadata.resourceVersion) {
      throw refusal(409, 'Conflict');
    }
    // Like the API server, does not write a replacement without changes.
    if (JSON.stringify([body.metadata, body.spec]) === JSON.stringify([current.metadata, current.spec])) return current;
    return this.#write('MODIFIED', structuredClone(body));
  }

  #write(type: StoredEvent['type'], lease: Lease): Lease {
    this.#revision += 1;
    const metadata = { ...lease.metadata, resourceVersion: String(this.#revision) } as ObjectMeta;
    this.#lease = { ...lease, metadata };
    const event = { type, object: this.#lease };
    this.#history.push(event);
    for (const tell of this.#watchers) tell(event);
    return this.#lease;
  }
}

function identityOf(request: KubeRequest): { name: string; resourceVersion: string } {
  return { name: request.path.split('/').at(-1) ?? '', resourceVersion: '' };
}

function refusal(status: number, reason: string): KubeStatusError {
  return new KubeStatusError(status, { reason }, undefined, {});
}

/** The same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
