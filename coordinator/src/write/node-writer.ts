import { FIELD_MANAGER, KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type {
  AnnotationChange,
  ConditionChange,
  NodeRef,
  NodeSet,
  NodeWithdrawal,
  TaintChange,
} from '../decide/intent/plan.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Node } from '../kube/objects.ts';
import { classifyWriteError, type SentMetadata, type WriteOutcome } from './classify.ts';

export type WriteOptions = {
  timeoutMs: number;
  /** Ends the request: the caller no longer waits for its answer. */
  signal?: AbortSignal;
  /** Everything happens but the write, admission included: to learn what would be refused. */
  rehearsal?: boolean;
  /** Writes only if the Node is still what was observed; `stale` if not. */
  ifUnchanged?: boolean;
  /** Asks for the whole Node as it is after the write, with its spec and status. */
  whole?: boolean;
};

const APPLY_PATCH = 'application/apply-patch+yaml';
const MERGE_PATCH = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const READ_TIMEOUT_MS = 5000;
const WHOLE = 'application/json';
/** Keeps spec and status out of the answer. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

type Patch = {
  subresource?: 'status';
  contentType: string;
  query?: Record<string, string>;
  body: unknown;
  accept?: string;
};

const NOTHING_SENT: SentMetadata = { labels: {}, annotations: {} };

/** Writes to one Node at a time. No method throws: every end is an outcome. */
export class NodeWriter {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /**
   * Removes keys, even of other owners, by a merge patch of nulls. It carries nothing else: a value set by a merge
   * patch would belong to a second entry of the field manager, which no later apply cleans up.
   */
  withdraw(node: NodeRef, keys: NodeWithdrawal, options: WriteOptions): Promise<WriteOutcome> {
    const metadata = {
      uid: node.uid,
      ...(options.ifUnchanged ? { resourceVersion: node.resourceVersion } : {}),
      ...nulls('labels', keys.labels),
      ...nulls('annotations', keys.annotations),
    };
    return this.#patch(node, { contentType: MERGE_PATCH, body: { metadata } }, NOTHING_SENT, options);
  }

  /** Adds and removes taints, if those on the Node are still what was observed; `stale` if not. */
  taints(node: NodeRef, change: TaintChange, options: WriteOptions): Promise<WriteOutcome> {
    const body = [...unchangedTest(node, options), ...taintPatch(node, change)];
    return this.#patch(node, { contentType: JSON_PATCH, body, accept: WHOLE }, NOTHING_SENT, options);
  }

  /**
   * Makes `set` all that rollcall applies to the Node. With force, the request is good for the Node's resource version
   * only, so that it cannot take a key that another manager has owned since.
   */
  set(node: NodeRef, set: NodeSet, options: WriteOptions): Promise<WriteOutcome> {
    const { labels, annotations, force } = set;
    const metadata = {
      name: node.name,
      uid: node.uid,
      ...(force || options.ifUnchanged ? { resourceVersion: node.resourceVersion } : {}),
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    };
    const body = { apiVersion: 'v1', kind: 'Node', metadata };
    const query: Record<string, string> = force ? { force: 'true' } : {};
    return this.#patch(node, { contentType: APPLY_PATCH, query, body }, { labels, annotations }, options);
  }

  /**
   * Makes conditions all that rollcall applies to the status of the Node, removes some that are still where they were
   * seen, or gives up those that others own as well. The body of a write to the status has nothing else in it: it changes
   * metadata as well.
   */
  conditions(node: NodeRef, change: ConditionChange, options: WriteOptions): Promise<WriteOutcome> {
    const where = { subresource: 'status', accept: WHOLE } as const;
    if (change.write === 'disown') {
      const body = [...unchangedTest(node, options), ...disownPatch(node, change.entry)];
      return this.#patch(node, { contentType: JSON_PATCH, body, accept: WHOLE }, NOTHING_SENT, options);
    }
    if (change.write === 'remove') {
      const body = [...unchangedTest(node, options), ...conditionPatch(node, change.conditions)];
      return this.#patch(node, { ...where, contentType: JSON_PATCH, body }, NOTHING_SENT, options);
    }
    const { name, uid, resourceVersion } = node;
    const { conditions, force } = change;
    const metadata = { name, uid, ...(force || options.ifUnchanged ? { resourceVersion } : {}) };
    const body = { apiVersion: 'v1', kind: 'Node', metadata, status: { conditions } };
    const query: Record<string, string> = force ? { force: 'true' } : {};
    return this.#patch(node, { ...where, contentType: APPLY_PATCH, query, body }, NOTHING_SENT, options);
  }

  /** The Node's metadata as it is now; `undefined` when it cannot be read. */
  async read(name: string, timeoutMs: number = READ_TIMEOUT_MS): Promise<Node | undefined> {
    const path = `/api/v1/nodes/${encodeURIComponent(name)}`;
    const request = { method: 'GET', path, accept: METADATA_ONLY, timeoutMs } as const;
    return this.#client.request<Node>(request).catch(() => undefined);
  }

  async #patch(node: NodeRef, patch: Patch, sent: SentMetadata, options: WriteOptions): Promise<WriteOutcome> {
    const { subresource, contentType, query, body, accept = options.whole ? WHOLE : METADATA_ONLY } = patch;
    const path = `/api/v1/nodes/${encodeURIComponent(node.name)}`;
    try {
      const answer = await this.#client.request<Node>({
        method: 'PATCH',
        path: subresource ? `${path}/${subresource}` : path,
        query: { fieldManager: FIELD_MANAGER, ...query, ...(options.rehearsal ? { dryRun: 'All' } : {}) },
        body,
        contentType,
        accept,
        timeoutMs: options.timeoutMs,
        ...(options.signal ? { signal: options.signal } : {}),
      });
      return { kind: 'applied', node: answer };
    } catch (error) {
      return classifyWriteError(error, sent);
    }
  }
}

/** What one request writes to a Node. */
export type Write =
  | { write: 'set'; set: NodeSet }
  | { write: 'withdraw'; keys: NodeWithdrawal }
  | { write: 'taints'; taints: TaintChange }
  | { write: 'conditions'; conditions: ConditionChange };

export function send(writer: NodeWriter, node: NodeRef, step: Write, options: WriteOptions): Promise<WriteOutcome> {
  switch (step.write) {
    case 'withdraw':
      return writer.withdraw(node, step.keys, options);
    case 'taints':
      return writer.taints(node, step.taints, options);
    case 'set':
      return writer.set(node, step.set, options);
    case 'conditions':
      return writer.conditions(node, step.conditions, options);
  }
}

/** Nothing at all rather than an empty map. */
function nulls(field: 'labels' | 'annotations', keys: readonly string[]): Record<string, Record<string, null>> {
  return keys.length === 0 ? {} : { [field]: Object.fromEntries(keys.map((key) => [key, null])) };
}

/** The part of a JSON patch that fails where the Node is no longer what was observed. */
function unchangedTest({ resourceVersion }: NodeRef, { ifUnchanged }: WriteOptions): Operation[] {
  return ifUnchanged ? [{ op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }] : [];
}

/** The JSON patch that removes conditions, if each is still where it was seen. */
export function conditionPatch({ uid }: NodeRef, conditions: readonly { type: string; index: number }[]): Operation[] {
  // From the end, so that the indexes of those before stay true.
  const removals = conditions
    .toSorted((a, b) => b.index - a.index)
    .flatMap(({ type, index }): Operation[] => [
      { op: 'test', path: `/status/conditions/${index}/type`, value: type },
      { op: 'remove', path: `/status/conditions/${index}` },
    ]);
  return [{ op: 'test', path: '/metadata/uid', value: uid }, ...removals];
}

/** The JSON patch by which rollcall no longer owns anything of the status, and nothing of it changes. */
export function disownPatch({ uid }: NodeRef, entry: number): Operation[] {
  const path = `/metadata/managedFields/${entry}`;
  const test = (field: string, value: string): Operation => ({ op: 'test', path: `${path}/${field}`, value });
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    test('manager', FIELD_MANAGER),
    test('operation', 'Apply'),
    test('subresource', 'status'),
    { op: 'remove', path },
  ];
}

/** An operation of a JSON patch (RFC 6902). */
export type Operation =
  | { op: 'test'; path: string; value: unknown }
  | { op: 'add'; path: string; value: unknown }
  | { op: 'remove'; path: string };

const ANNOTATIONS = '/metadata/annotations';
// As RFC 6901 writes a slash.
const KEYS = `${ANNOTATIONS}/${KEYS_ANNOTATION.replace('/', '~1')}`;

/**
 * The JSON patch that changes some taints and leaves the others as they are, in order, with what the Node says of them.
 * `spec.taints` is one atomic list: each step tests what it relies on, so that the patch fails where the list has become
 * another. One key may have several taints, with different effects.
 */
export function taintPatch({ uid }: NodeRef, { add, remove, observed, keys }: TaintChange): Operation[] {
  const operations: Operation[] = [{ op: 'test', path: '/metadata/uid', value: uid }];
  // From the end, so that the indexes of those before stay true.
  for (const [index, { key, effect }] of [...observed.entries()].toReversed()) {
    if (!remove.includes(key)) continue;
    const path = `/spec/taints/${index}`;
    operations.push({ op: 'test', path: `${path}/key`, value: key });
    operations.push({ op: 'test', path: `${path}/effect`, value: effect });
    operations.push({ op: 'remove', path });
  }
  if (observed.length > 0) {
    for (const taint of add) operations.push({ op: 'add', path: '/spec/taints/-', value: taint });
  } else if (add.length > 0) {
    // Null also matches a list that is not there. Without the test, the list of another client would be replaced.
    operations.push({ op: 'test', path: '/spec/taints', value: null }, { op: 'add', path: '/spec/taints', value: add });
  }
  return keys ? [...operations, ...annotationPatch(keys)] : operations;
}

function annotationPatch({ before, after, intoNone }: AnnotationChange): Operation[] {
  if (intoNone) {
    return [
      { op: 'test', path: ANNOTATIONS, value: null },
      { op: 'add', path: ANNOTATIONS, value: { [KEYS_ANNOTATION]: after } },
    ];
  }
  const test: Operation = { op: 'test', path: KEYS, value: before ?? null };
  if (after === undefined) return [test, { op: 'remove', path: KEYS }];
  return [test, { op: 'add', path: KEYS, value: after }];
}
