import { isAnnotationKey, isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import type { KubeStatusError } from '@rollcall/coordinator/kube/client.ts';
import type { Node, NodeCondition, Taint } from '@rollcall/coordinator/kube/objects.ts';
import {
  conflictsOf,
  type Field,
  fieldsOf,
  fromManagedFields,
  type Owners,
  ownerId,
  ownersAfterApply,
  ownersAfterUpdate,
  ownersBeforeApply,
  releasedBy,
  sameOwners,
  toManagedFields,
} from './ownership.ts';
import { type JsonPatchOperation, jsonPatch, mergePatch } from './patches.ts';
import { invalid, managerConflict, mayNotCreate, modified, notFound, unprocessable } from './refusals.ts';

export type PatchKind = 'apply' | 'merge' | 'json';

export type NodePatch = {
  kind: PatchKind;
  name: string;
  manager: string;
  body: unknown;
  force?: boolean;
  dryRun?: boolean;
  subresource?: 'status';
};

/** `type` is that of a watch. `before` is absent where the Node is new. */
export type NodeWrite = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; node: Node; before?: Node; manager: string };

export type NodeSeed = Pick<Node['metadata'], 'name'> & {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  taints?: Taint[];
  /** Conditions of the status; none by default. */
  conditions?: NodeCondition[];
  /** RFC 3339. */
  createdAt?: string;
  /** The manager that owns what the Node begins with. Defaults to none, as for what admission writes. */
  owners?: Owners;
  uid?: string;
  resourceVersion?: number;
};

type Stored = { node: Node; owners: Owners };

/** The Nodes of an API server: patches with ownership, preconditions and validation, each with its resource version. */
export class ModelNodes {
  readonly #nodes = new Map<string, Stored>();
  readonly #onWrite: (write: NodeWrite) => void;
  /** Returns the error with which admission refuses a change. */
  admission: (before: Node, after: Node, manager: string) => KubeStatusError | undefined = () => undefined;
  #version = 1000;
  #uids = 0;

  constructor(onWrite: (write: NodeWrite) => void) {
    this.#onWrite = onWrite;
  }

  /** Of the last write. */
  get version(): string {
    return String(this.#version);
  }

  get(name: string): Node | undefined {
    return this.#nodes.get(name)?.node;
  }

  ownersOf(name: string): Owners {
    return this.#nodes.get(name)?.owners ?? new Map();
  }

  all(): Node[] {
    return [...this.#nodes.values()].map(({ node }) => node);
  }

  create({
    name,
    labels,
    annotations,
    taints = [],
    conditions,
    createdAt,
    owners = new Map(),
    ...seed
  }: NodeSeed): Node {
    this.#uids += 1;
    const uid = seed.uid ?? `uid-${this.#uids}`;
    const metadata = {
      name,
      uid,
      resourceVersion: this.#next(seed.resourceVersion),
      creationTimestamp: createdAt ?? '2026-01-01T00:00:00Z',
      labels: { ...labels },
      annotations: { ...annotations },
      managedFields: toManagedFields(owners),
    };
    const spec = taints.length > 0 ? { taints } : {};
    const node: Node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata,
      spec,
      ...(conditions ? { status: { conditions } } : {}),
    };
    this.#nodes.set(name, { node, owners });
    this.#onWrite({ type: 'ADDED', node, manager: '' });
    return node;
  }

  delete(name: string): void {
    const found = this.#nodes.get(name);
    if (!found) return;
    this.#nodes.delete(name);
    const node = withMetadata(found.node, { resourceVersion: this.#next() });
    this.#onWrite({ type: 'DELETED', node, before: found.node, manager: '' });
  }

  /** A write that changes nothing that is modelled: a kubelet's heartbeat. */
  touch(name: string): void {
    const found = this.#nodes.get(name);
    if (found) this.#store(found, found.node, found.owners, 'kubelet');
  }

  /** A kubelet says what its Node offers. */
  setAllocatable(name: string, allocatable: Record<string, string>): void {
    const found = this.#nodes.get(name);
    if (!found) return;
    const { node, owners } = found;
    this.#store(found, { ...node, status: { ...node.status, allocatable } }, owners, 'kubelet');
  }

  /** The Node as it is afterwards. Throws KubeStatusError where a real API server refuses. */
  patch(patch: NodePatch): Node {
    const { name, manager } = patch;
    const found = this.#nodes.get(name);
    if (!found) throw absent(patch);
    const { node, owners } = patch.kind === 'apply' ? applied(found, patch) : updated(found, patch);
    validate(node, found.node);
    const refusal = this.admission(found.node, node, manager);
    if (refusal) throw refusal;
    const isSame = sameFields(node, found.node) && sameOwners(owners, found.owners);
    if (isSame) return found.node;
    if (patch.dryRun) return node;
    return this.#store(found, node, owners, manager);
  }

  #store(found: Stored, next: Node, owners: Owners, manager: string): Node {
    const node = withMetadata(next, { resourceVersion: this.#next(), managedFields: toManagedFields(owners) });
    this.#nodes.set(node.metadata.name, { node, owners });
    this.#onWrite({ type: 'MODIFIED', node, before: found.node, manager });
    return node;
  }

  #next(version = this.#version + 1): string {
    this.#version = version;
    return String(version);
  }
}

type ApplyBody = {
  metadata: { name: string; uid?: string; resourceVersion?: string } & Maps;
  status?: { conditions?: NodeCondition[] };
};
type Maps = { labels?: Record<string, string>; annotations?: Record<string, string> };

function applied(found: Stored, { manager, subresource, body, force = false }: NodePatch): Stored {
  const { metadata, status } = body as ApplyBody;
  const own = ownerId('Apply', manager, subresource);
  const wanted = fieldsOf(body as Node);
  const before = ownersBeforeApply(found.owners, found.node, subresource);
  const conflicts = force ? [] : conflictsOf(before, own, found.node, wanted);
  if (conflicts.length > 0) throw managerConflict(conflicts.map((each) => ({ ...each, path: pathOf(each.field) })));
  requireVersion(found.node, metadata.resourceVersion);
  const released = releasedBy(before, own, wanted);
  const { labels, annotations } = found.node.metadata;
  const changed = withMetadata(found.node, {
    uid: metadata.uid ?? found.node.metadata.uid,
    labels: without({ ...labels, ...metadata.labels }, 'label:', released),
    annotations: without({ ...annotations, ...metadata.annotations }, 'annotation:', released),
  });
  const node = subresource ? withConditions(changed, status?.conditions ?? [], released) : changed;
  return { node, owners: ownersAfterApply(before, own, found.node, node, wanted) };
}

/** A list by type: what is applied is merged into what is there, what is released goes, and what is new comes last. */
function withConditions(node: Node, applied: readonly NodeCondition[], released: readonly Field[]): Node {
  const merged = new Map<string, NodeCondition>();
  for (const condition of node.status?.conditions ?? []) merged.set(condition.type, condition);
  for (const field of released) {
    const [type = '', name] = field.slice('condition:'.length).split('#');
    const condition = merged.get(type);
    if (!field.startsWith('condition:') || !condition) continue;
    if (name === undefined) merged.delete(type);
    // The API server never leaves out a status, which is a text without `omitempty`.
    else if (name === 'status') merged.set(type, { ...condition, status: '' });
    else
      merged.set(type, Object.fromEntries(Object.entries(condition).filter(([key]) => key !== name)) as NodeCondition);
  }
  for (const condition of applied) merged.set(condition.type, { ...merged.get(condition.type), ...condition });
  return { ...node, status: { ...node.status, conditions: [...merged.values()] } };
}

function updated(found: Stored, { kind, manager, subresource, body }: NodePatch): Stored {
  const result = kind === 'merge' ? mergePatch(found.node, body) : jsonPatch(found.node, body as JsonPatchOperation[]);
  if (result === undefined) throw unprocessable();
  const node = normalized(result as Node, found.node);
  requireVersion(found.node, node.metadata.resourceVersion);
  // Who owns what can be edited like anything else.
  const { managedFields = [] } = node.metadata;
  const isEdited = JSON.stringify(managedFields) !== JSON.stringify(found.node.metadata.managedFields ?? []);
  const owners = isEdited ? fromManagedFields(managedFields) : found.owners;
  return { node, owners: ownersAfterUpdate(owners, ownerId('Update', manager, subresource), found.node, node) };
}

/** Empty maps and lists are as good as none. */
function normalized({ metadata, spec, ...rest }: Node, before: Node): Node {
  const { labels = {}, annotations = {}, uid = before.metadata.uid } = metadata;
  const { resourceVersion = before.metadata.resourceVersion } = metadata;
  const taints = spec?.taints ?? [];
  return {
    ...rest,
    metadata: { ...metadata, uid, resourceVersion, labels, annotations },
    spec: taints.length > 0 ? { taints } : {},
  };
}

function absent({ kind, name, body }: NodePatch) {
  if (kind !== 'apply') return notFound(name);
  const { uid, resourceVersion } = (body as ApplyBody).metadata;
  return uid === undefined && resourceVersion === undefined
    ? mayNotCreate(name)
    : modified(name, 'no existing object was found');
}

function requireVersion({ metadata }: Node, wanted: string | undefined): void {
  if (wanted !== undefined && wanted !== '' && wanted !== metadata.resourceVersion) throw modified(metadata.name);
}

function validate({ metadata, spec }: Node, before: Node): void {
  const { name, labels = {}, annotations = {} } = metadata;
  const causes = [
    ...Object.entries(labels)
      .filter(([key, value]) => !isLabelKey(key) || !isLabelValue(value))
      .map(() => ({ reason: 'FieldValueInvalid', field: 'metadata.labels' })),
    ...Object.keys(annotations)
      .filter((key) => !isAnnotationKey(key))
      .map(() => ({ reason: 'FieldValueInvalid', field: 'metadata.annotations' })),
    ...duplicates(spec?.taints ?? []).map((index) => ({
      reason: 'FieldValueDuplicate',
      // As the API server says it.
      field: `metadata.taints[${index}]`,
    })),
  ];
  if (metadata.uid !== before.metadata.uid) causes.push({ reason: 'FieldValueInvalid', field: 'metadata.uid' });
  if (causes.length > 0) throw invalid(name, causes);
}

/** Of one key and effect there may be one taint. */
function duplicates(taints: readonly Taint[]): number[] {
  const seen = new Set<string>();
  return taints.flatMap(({ key, effect }, index) => {
    const id = `${key} ${effect}`;
    if (seen.has(id)) return [index];
    seen.add(id);
    return [];
  });
}

function sameFields(a: Node, b: Node): boolean {
  const [fields, others] = [fieldsOf(a), fieldsOf(b)];
  return fields.size === others.size && [...fields].every(([field, value]) => others.get(field) === value);
}

function withMetadata(node: Node, more: Partial<Node['metadata']>): Node {
  return { ...node, metadata: { ...node.metadata, ...more } };
}

function without(map: Record<string, string>, kind: string, released: readonly Field[]): Record<string, string> {
  for (const field of released) if (field.startsWith(kind)) delete map[field.slice(kind.length)];
  return map;
}

function pathOf(field: Field): string {
  if (field.startsWith('label:')) return `.metadata.labels.${field.slice('label:'.length)}`;
  if (field.startsWith('condition:')) {
    const [type = '', name = 'type'] = field.slice('condition:'.length).split('#');
    return `.status.conditions[type="${type}"].${name}`;
  }
  return `.metadata.annotations.${field.slice('annotation:'.length)}`;
}
