import type { Clock } from '@rollcall/common/clock.ts';
import type { KubeClient, KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import type { KubeObject, Node } from '@rollcall/coordinator/kube/objects.ts';
import { carryOut, shown } from './client.ts';
import { Journal, type JournalEvent } from './journal.ts';
import { ModelNodes, type NodeWrite } from './nodes.ts';
import { type ModelObject, ModelObjects, refusal } from './objects.ts';

type StreamRequest = Parameters<KubeClient['stream']>[0];

export type ModelServerOptions = {
  /** Paths of the collections that there are, Nodes apart, which may be read and watched. */
  collections: readonly string[];
  onNodeWrite: (write: NodeWrite) => void;
  clock: Clock;
  /** Answers a TokenReview with its status. */
  reviewToken: (token: string) => unknown;
  /** Every request, as it is carried out. */
  onRequest?: (request: KubeRequest) => void;
};

const NODES = '/api/v1/nodes';
/** A watch without events is told this often how far it is. */
const BOOKMARK_MS = 60_000;

/** An API server in memory: Nodes, other collections, watches, Leases, Events, which are not kept, and TokenReviews. */
export class ModelServer {
  readonly nodes: ModelNodes;
  readonly #nodeJournal = new Journal<Node>();
  readonly #collections: ReadonlyMap<string, ModelObjects>;
  readonly #options: ModelServerOptions;

  constructor(options: ModelServerOptions) {
    this.#options = options;
    this.#collections = new Map(options.collections.map((path) => [path, new ModelObjects()]));
    this.nodes = new ModelNodes((write) => {
      this.#nodeJournal.add({ type: write.type, object: write.node });
      options.onNodeWrite(write);
    });
  }

  collection(path: string): ModelObjects {
    const found = this.#collections.get(path);
    if (!found) throw refusal(404, 'NotFound');
    return found;
  }

  /** Of all collections. */
  compact(): void {
    this.#nodeJournal.compact();
    for (const { journal } of this.#collections.values()) journal.compact();
  }

  get watchers(): number {
    return [this.#nodeJournal, ...[...this.#collections.values()].map(({ journal }) => journal)].reduce(
      (sum, { watchers }) => sum + watchers,
      0,
    );
  }

  /** Throws KubeStatusError. */
  answer(request: KubeRequest): unknown {
    this.#options.onRequest?.(request);
    const { method, path, body } = request;
    if (path === NODES) return this.#listNodes(request);
    if (path.startsWith(`${NODES}/`)) return carryOut(this.nodes, request);
    if (path.endsWith('/tokenreviews')) return this.#review(body);
    if (/\/events(\/|$)/.test(path)) return { metadata: {} };
    if (this.#collections.has(path)) return list(this.collection(path), request);
    const [, collection = '', name = '', status] = /^(.*)\/([^/]+?)(\/status)?$/.exec(path) ?? [];
    const objects = this.collection(collection);
    if (method === 'GET') return objects.get(name) ?? fail(refusal(404, 'NotFound'));
    if (method === 'PUT') return objects.replace(name, body as ModelObject);
    if (status) return objects.patchStatus(name, body as { status: unknown });
    // An apply that creates it, if need be, is all that is asked for.
    return objects.get(name) ?? objects.put(name, body as ModelObject);
  }

  /** Throws KubeStatusError. Returns what ends it. */
  watch(request: StreamRequest, onEvent: (event: object) => void): () => void {
    const unwatch = this.#watch(request, onEvent);
    let cancel = () => {};
    const remind = () => {
      cancel = this.#options.clock.after(BOOKMARK_MS, () => {
        onEvent(this.#bookmark(request));
        remind();
      });
    };
    remind();
    return () => {
      cancel();
      unwatch();
    };
  }

  #watch({ path, query = {}, accept = '' }: StreamRequest, onEvent: (event: object) => void): () => void {
    const version = Number(query['resourceVersion']);
    if (path === NODES) {
      return this.#nodeJournal.watch(version, ({ type, object }) => onEvent({ type, object: shown(object, accept) }));
    }
    const isAsked = matcher(query['fieldSelector']);
    const tell = (event: JournalEvent<ModelObject>) => isAsked(event.object) && onEvent(event);
    return this.collection(path).journal.watch(version, tell);
  }

  #bookmark({ path }: StreamRequest): object {
    const resourceVersion = path === NODES ? this.nodes.version : this.collection(path).version;
    return { type: 'BOOKMARK', object: { metadata: { resourceVersion } } };
  }

  #listNodes({ accept = '' }: KubeRequest): object {
    const items = this.nodes.all().map((node) => shown(node, accept));
    return { metadata: { resourceVersion: this.nodes.version }, items };
  }

  #review(body: unknown): object {
    const { token } = (body as { spec: { token: string } }).spec;
    return { status: this.#options.reviewToken(token) };
  }
}

function list(objects: ModelObjects, { query = {} }: KubeRequest): object {
  const items = objects.all().filter(matcher(query['fieldSelector']));
  return { metadata: { resourceVersion: objects.version }, items };
}

/** Field selectors alone: who selects by labels looks at what comes once more. */
function matcher(fieldSelector = ''): (object: KubeObject) => boolean {
  const [path, value] = fieldSelector.split('=');
  if (path === 'metadata.name') return ({ metadata }) => metadata.name === value;
  if (path !== 'spec.serviceAccountName') return () => true;
  return (object) => (object as { spec?: { serviceAccountName?: string } }).spec?.serviceAccountName === value;
}

function fail(error: Error): never {
  throw error;
}
