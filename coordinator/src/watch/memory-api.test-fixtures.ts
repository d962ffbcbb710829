import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../kube/client.ts';
import type { KubeObject, Pod } from '../kube/objects.ts';

type Stream = { path: string; tell: (event: object) => void };

/** An API server in memory, which answers at once. It takes no notice of selectors, and remembers them. */
export class MemoryApi {
  readonly clock = new FakeClock();
  readonly stop = new AbortController();
  /** The collections by path; one that is not here is empty. */
  readonly collections = new Map<string, readonly KubeObject[]>();
  /** The status that requests of a path are answered with. */
  readonly refused = new Map<string, number>();
  /** What the answer to a list of a path waits for. */
  readonly delayed = new Map<string, Promise<void>>();
  /** The lists that were asked for. */
  readonly lists: KubeRequest[] = [];
  #streams: Stream[] = [];
  /** What every watch needs. */
  readonly shared: {
    client: KubeClient;
    clock: FakeClock;
    random: () => number;
    signal: AbortSignal;
    logger: ReturnType<typeof silentLogger>;
  };

  constructor() {
    const client: KubeClient = {
      request: <T>(request: KubeRequest) => this.#list(request) as Promise<T>,
      stream: ({ path, query, signal, onOpen }, tell) => {
        const stream = { path, tell };
        const status = this.refused.get(path);
        if (status !== undefined) return Promise.reject(new KubeStatusError(status, {}, undefined, {}));
        this.#streams.push(stream);
        onOpen?.();
        return new Promise((resolve) => {
          const end = () => {
            cancel();
            this.#streams = this.#streams.filter((each) => each !== stream);
            resolve();
          };
          const cancel = this.clock.after(1000 * Number(query?.['timeoutSeconds']), end);
          signal?.addEventListener('abort', end);
        });
      },
      close: () => {},
    };
    this.shared = { client, clock: this.clock, random: () => 0, signal: this.stop.signal, logger: silentLogger() };
  }

  /** The paths of the watches that are open. */
  watched(): string[] {
    return this.#streams.map(({ path }) => path).sort();
  }

  /** How often a path was listed. */
  listed(path: string): number {
    return this.lists.filter((list) => list.path === path).length;
  }

  /** The last query of a path, without the size of its pages. */
  selectorsOf(path: string): Record<string, string> {
    const { limit: _limit, ...selectors } = this.lists.findLast((list) => list.path === path)?.query ?? {};
    return selectors;
  }

  /** Sends an event to the watches of a path. */
  tell(path: string, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void {
    for (const stream of this.#streams) if (stream.path === path) stream.tell({ type, object });
  }

  async #list(request: KubeRequest): Promise<unknown> {
    const { path } = request;
    // Discovery: what is not served here is not installed either.
    if (/^\/apis\/[^/]+$/.test(path)) throw new KubeStatusError(404, {}, undefined, {});
    this.lists.push(request);
    const items = this.collections.get(path) ?? [];
    await this.delayed.get(path);
    const status = this.refused.get(path);
    if (status !== undefined) throw new KubeStatusError(status, {}, undefined, {});
    return { metadata: { resourceVersion: '10' }, items };
  }
}

export function podsPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}

/** A Pod in `ci`, as the API server has it. */
export function podObject(name: string, labels: Record<string, string>, nodeName = 'n1', namespace = 'ci') {
  const metadata = { name, namespace, uid: `uid-${namespace}-${name}`, resourceVersion: '5', labels };
  return { metadata, spec: { nodeName } } satisfies Pod;
}
