import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { applyObject, getObject, isConflict, isNotFound, type ObjectRef, replaceObject } from './apply-object.ts';
import type { KubeClient } from './client.ts';
import type { Lease } from './lease-record.ts';

const REQUEST_TIMEOUT_MS = 5000;

/** The one Lease, as the API server keeps it. Every method throws like `KubeClient.request`. */
export class LeaseStore {
  readonly ref: ObjectRef;
  readonly #client: KubeClient;
  readonly #stop = new AbortController();

  constructor(client: KubeClient, namespace: string, name: string) {
    this.ref = { kind: 'Lease', namespace, name };
    this.#client = client;
  }

  get(timeoutMs = REQUEST_TIMEOUT_MS): Promise<Lease | undefined> {
    return getObject<Lease>(this.#client, this.ref, { timeoutMs, signal: this.#stop.signal });
  }

  /**
   * Creates it without a holder, if need be, by an apply: RBAC can permit that by name, and several candidates that do
   * it do not disturb each other. Whose it becomes is decided by `replace`.
   */
  create(): Promise<Lease> {
    // An apply of nothing at all would write when it is repeated, because no field would have an owner yet.
    const fields = { metadata: { labels: { 'app.kubernetes.io/managed-by': FIELD_MANAGER } } };
    const limits = { timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#stop.signal };
    return applyObject<Lease>(this.#client, this.ref, fields, limits);
  }

  /** Returns the new Lease; `undefined` if the Lease changed since `record` was made, and nothing was written. */
  async replace(record: Lease, limitMs = REQUEST_TIMEOUT_MS): Promise<Lease | undefined> {
    const limits = { timeoutMs: Math.min(limitMs, REQUEST_TIMEOUT_MS), signal: this.#stop.signal };
    try {
      return await replaceObject(this.#client, this.ref, record, limits);
    } catch (err) {
      if (isConflict(err) || isNotFound(err)) return undefined;
      throw err;
    }
  }

  /** Cuts off the requests under way. */
  abort(): void {
    this.#stop.abort();
  }
}
