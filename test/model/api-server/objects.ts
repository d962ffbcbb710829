import { KubeStatusError } from '@rollcall/coordinator/kube/client.ts';
import type { KubeObject, ObjectMeta } from '@rollcall/coordinator/kube/objects.ts';
import { Journal } from './journal.ts';
import { mergePatch } from './patches.ts';

export type ModelObject = KubeObject & { [field: string]: unknown };

/** Objects of one collection other than Nodes: by name, with versions, a generation, and compare-and-swap. */
export class ModelObjects {
  readonly journal = new Journal<ModelObject>();
  readonly #objects = new Map<string, ModelObject>();
  #version = 1;
  #uids = 0;

  get version(): string {
    return String(this.#version);
  }

  get(name: string): ModelObject | undefined {
    return this.#objects.get(name);
  }

  all(): ModelObject[] {
    return [...this.#objects.values()];
  }

  /** Makes an object, or puts another in the place of one of the same name, which keeps its uid. */
  put(name: string, object: Omit<ModelObject, 'metadata'> & { metadata?: Partial<ObjectMeta> }): ModelObject {
    const before = this.#objects.get(name);
    this.#uids += before ? 0 : 1;
    const metadata = {
      uid: before?.metadata.uid ?? `${name}-${this.#uids}`,
      ...object.metadata,
      name,
      generation: (before?.metadata.generation ?? 0) + (isSame(before?.['spec'], object['spec']) ? 0 : 1),
      resourceVersion: this.#next(),
    };
    return this.#store(before ? 'MODIFIED' : 'ADDED', { ...object, metadata });
  }

  delete(name: string): void {
    const before = this.#objects.get(name);
    if (!before) return;
    this.#objects.delete(name);
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: this.#next() } };
    this.journal.add({ type: 'DELETED', object });
  }

  /** As PUT does. Throws KubeStatusError: 404, or 409 where it is no longer the one that was read. */
  replace(name: string, body: ModelObject): ModelObject {
    const before = this.#require(name);
    const { uid, resourceVersion } = body.metadata;
    if (uid !== before.metadata.uid || resourceVersion !== before.metadata.resourceVersion)
      throw refusal(409, 'Conflict');
    return isSame(body, before) ? before : this.put(name, body);
  }

  /** As a merge patch of the status does. Throws KubeStatusError. */
  patchStatus(name: string, body: { metadata?: { uid?: string }; status?: unknown }): ModelObject {
    const before = this.#require(name);
    if (body.metadata?.uid !== undefined && body.metadata.uid !== before.metadata.uid) throw refusal(409, 'Conflict');
    const status = mergePatch(before['status'], body.status);
    if (isSame(status, before['status'])) return before;
    return this.#store('MODIFIED', {
      ...before,
      status,
      metadata: { ...before.metadata, resourceVersion: this.#next() },
    });
  }

  #require(name: string): ModelObject {
    const found = this.#objects.get(name);
    if (!found) throw refusal(404, 'NotFound');
    return found;
  }

  #store(type: 'ADDED' | 'MODIFIED', object: ModelObject): ModelObject {
    this.#objects.set(object.metadata.name, object);
    this.journal.add({ type, object });
    return object;
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }
}

export function refusal(code: number, reason: string): KubeStatusError {
  return new KubeStatusError(code, { kind: 'Status', code, reason }, undefined, {});
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
