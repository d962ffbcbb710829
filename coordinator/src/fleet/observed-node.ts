import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { KubeObject, ManagedFieldsEntry } from '../kube/objects.ts';

/** The keys of a Node that the field manager `rollcall` applied. */
type OwnedKeys = { labels: ReadonlySet<string>; annotations: ReadonlySet<string> };

/** A Node as last seen, with no more than is used: a fleet of them stays in memory. */
export type ObservedNode = {
  name: string;
  uid: string;
  resourceVersion: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  owned: OwnedKeys;
};

const NOTHING: ReadonlySet<string> = new Set();
const NO_KEYS: OwnedKeys = { labels: NOTHING, annotations: NOTHING };

/** Names of nodes are label values too: where nodes come and go, the pool is begun anew now and then. */
const POOL_MAX = 50_000;

/** Gives the same string object for equal text, so that a label that every node carries is kept once. */
export type Intern = (text: string) => string;

export function createIntern(): Intern {
  const pool = new Map<string, string>();
  return (text) => {
    const known = pool.get(text);
    if (known !== undefined) return known;
    if (pool.size >= POOL_MAX) pool.clear();
    pool.set(text, text);
    return text;
  };
}

/** Trims a Node (whole or metadata only). Annotations that nobody here asks for are dropped. */
export function observeNode(
  node: KubeObject,
  intern: Intern,
  annotationsOfInterest: ReadonlySet<string>,
): ObservedNode {
  const { name, uid, resourceVersion, labels = {}, annotations = {}, managedFields = [] } = node.metadata;
  const owned = ownedKeys(managedFields, intern);
  const kept: Record<string, string> = {};
  for (const [key, value] of Object.entries(annotations)) {
    if (annotationsOfInterest.has(key) || owned.annotations.has(key)) kept[intern(key)] = value;
  }
  const internedLabels: Record<string, string> = {};
  for (const [key, value] of Object.entries(labels)) internedLabels[intern(key)] = intern(value);
  return { name, uid, resourceVersion, labels: internedLabels, annotations: kept, owned };
}

/** The labels and annotations in our own Apply entry of managedFields (fieldsV1, as KEP-555 defines it). */
function ownedKeys(managedFields: readonly ManagedFieldsEntry[], intern: Intern): OwnedKeys {
  const entry = managedFields.find(
    ({ manager, operation, subresource }) => manager === FIELD_MANAGER && operation === 'Apply' && !subresource,
  );
  const metadata = entry?.fieldsV1?.['f:metadata'] as Record<string, Record<string, unknown>> | undefined;
  if (!metadata) return NO_KEYS;
  return { labels: keysIn(metadata['f:labels'], intern), annotations: keysIn(metadata['f:annotations'], intern) };
}

function keysIn(fields: Record<string, unknown> | undefined, intern: Intern): ReadonlySet<string> {
  const keys = Object.keys(fields ?? {}).filter((field) => field.startsWith('f:'));
  return keys.length === 0 ? NOTHING : new Set(keys.map((field) => intern(field.slice(2))));
}

/** Whether nothing that a decision could depend on differs: a heartbeat of the kubelet is such an event. */
export function sameObservation(a: ObservedNode, b: ObservedNode): boolean {
  return (
    a.uid === b.uid &&
    sameRecord(a.labels, b.labels) &&
    sameRecord(a.annotations, b.annotations) &&
    sameSet(a.owned.labels, b.owned.labels) &&
    sameSet(a.owned.annotations, b.owned.annotations)
  );
}

function sameRecord(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((key) => b.has(key));
}
