import { FIELD_MANAGER, PREDECESSOR_FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { ManagedFieldsEntry, Node, Taint } from '../kube/objects.ts';
import type { Intern } from './intern.ts';
import { listedOf } from './node-keys.ts';
import {
  type ConditionOwners,
  conditionOwners,
  NO_CONDITION_OWNERS,
  type ObservedCondition,
  observeConditions,
  sameConditions,
  sameOwners,
} from './observed-conditions.ts';

export type { Taint };

/** The keys of a Node that the field manager `rollcall` applied. */
type OwnedKeys = { labels: ReadonlySet<string>; annotations: ReadonlySet<string> };

/** A Node as last seen, with no more than is used: a fleet of them stays in memory. */
export type ObservedNode = {
  name: string;
  uid: string;
  resourceVersion: string;
  /** By the wall clock, in milliseconds since the epoch. */
  createdAtMs: number;
  /** Its deletion was asked for. */
  deleting?: boolean;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  /** It has no annotation at all, also none that is not kept here. */
  unannotated?: true;
  owned: OwnedKeys;
  /** Labels that rollcall applied or lists and that another manager owns as well: giving them up does not remove them. */
  shared?: ReadonlySet<string>;
  /**
   * Labels that rollcall applied or lists, that no other manager owns, and that giving up does not remove either, since
   * managedFields were reset: the list tells whose they are.
   */
  ownerless?: ReadonlySet<string>;
  /** Annotations that only the predecessor, and perhaps rollcall, wrote. */
  inherited: ReadonlySet<string>;
  /** All of them in order; `undefined` where only metadata is watched. */
  taints?: readonly Taint[] | undefined;
  /** Quantities by resource; `undefined` where only metadata is watched. */
  allocatable?: Readonly<Record<string, string>> | undefined;
  /** By feature, of those that were asked for, whether the Node declares it; `undefined` where only metadata is watched. */
  declared?: ReadonlyMap<string, boolean> | undefined;
  /** Those that are not the kubelet's; `undefined` where only metadata is watched. */
  conditions?: readonly ObservedCondition[] | undefined;
  /** Defaults to no owner. */
  conditionOwners?: ConditionOwners;
};

const NOTHING: ReadonlySet<string> = new Set();
const NO_KEYS: OwnedKeys = { labels: NOTHING, annotations: NOTHING };
const NO_TAINTS: readonly Taint[] = [];
const NO_CONDITIONS: readonly ObservedCondition[] = [];
const NO_FEATURES: ReadonlyMap<string, boolean> = new Map();
const NO_RESOURCES: Readonly<Record<string, string>> = {};
const OURS: ReadonlySet<string | undefined> = new Set([FIELD_MANAGER, PREDECESSOR_FIELD_MANAGER]);

/**
 * Trims a Node (whole or metadata only). Annotations that rollcall does not use are dropped, unless all are wanted. Of
 * the features that it declares, only those in `features` are kept.
 */
export function observeNode(
  node: Node,
  intern: Intern<string>,
  annotationsOfInterest: ReadonlySet<string>,
  allAnnotations = false,
  features: readonly string[] = [],
): ObservedNode {
  const { name, uid, resourceVersion, creationTimestamp = '', labels = {} } = node.metadata;
  const { annotations = {}, managedFields = [], deletionTimestamp } = node.metadata;
  const createdAtMs = Date.parse(creationTimestamp) || 0;
  const owned = ownedKeys(managedFields, intern);
  const inherited = inheritedAnnotations(managedFields, annotationsOfInterest);
  const isKept = (key: string) => allAnnotations || annotationsOfInterest.has(key) || owned.annotations.has(key);
  const kept = Object.entries(annotations).filter(([key]) => isKept(key));
  return {
    name,
    uid,
    resourceVersion,
    createdAtMs,
    deleting: deletionTimestamp !== undefined,
    labels: recordOf(Object.entries(labels).map(([key, value]) => [intern(key), intern(value)])),
    // What rollcall itself writes, such as its list of keys, is the same on many Nodes.
    annotations: recordOf(
      kept.map(([key, value]) => [intern(key), owned.annotations.has(key) ? intern(value) : value]),
    ),
    ...(node.metadata.annotations === undefined ? { unannotated: true as const } : {}),
    owned,
    ...ownersOfLabels(managedFields, owned.labels, { labels, annotations }),
    inherited,
    ...taintsOf(node),
    ...statusOf(node, intern, features),
    conditionOwners: conditionOwners(managedFields),
  };
}

/** Without what every object inherits: a label may be called `constructor`. */
export function emptyRecord(): Record<string, string> {
  return Object.create(null);
}

/**
 * Likewise, with these keys. Created with all keys at once, it shares its layout with the records of other Nodes, which
 * takes a fifth of the memory of adding them one by one.
 */
function recordOf(entries: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.setPrototypeOf(Object.fromEntries(entries), null);
}

/** The answer to a request for metadata has no spec at all; a whole Node always has one. */
function taintsOf({ spec }: Node): Pick<ObservedNode, 'taints'> {
  return spec === undefined ? {} : { taints: spec.taints ?? NO_TAINTS };
}

function statusOf(
  node: Node,
  intern: Intern<string>,
  features: readonly string[],
): Pick<ObservedNode, 'allocatable' | 'declared' | 'conditions'> {
  if (node.status === undefined) return {};
  const { allocatable = NO_RESOURCES, declaredFeatures = [] } = node.status;
  return {
    allocatable,
    declared:
      features.length === 0 ? NO_FEATURES : new Map(features.map((name) => [name, declaredFeatures.includes(name)])),
    conditions: observeConditions(node, intern) ?? NO_CONDITIONS,
  };
}

/** The API server names it for fields that were there when managedFields were empty. */
const BEFORE_FIRST_APPLY = 'before-first-apply';

function ownersOfLabels(
  managedFields: readonly ManagedFieldsEntry[],
  owned: ReadonlySet<string>,
  node: { labels: Readonly<Record<string, string>>; annotations: Readonly<Record<string, string>> },
): Pick<ObservedNode, 'shared' | 'ownerless'> {
  const listed = [...listedOf(node, 'label')].filter((key) => Object.hasOwn(node.labels, key));
  const ours = [...owned.union(new Set(listed))];
  if (ours.length === 0) return { shared: NOTHING };
  const fieldsOf = (isMeant: (entry: ManagedFieldsEntry) => boolean) =>
    managedFields
      .filter((entry) => !isOurApply(entry) && isMeant(entry))
      .map((entry): object => metadataFields(entry)?.['f:labels'] ?? {});
  const others = fieldsOf(({ manager }) => manager !== BEFORE_FIRST_APPLY);
  const nobody = fieldsOf(({ manager }) => manager === BEFORE_FIRST_APPLY);
  const isIn = (all: readonly object[], key: string) => all.some((fields) => `f:${key}` in fields);
  const shared = ours.filter((key) => isIn(others, key));
  const ownerless = ours.filter((key) => !isIn(others, key) && (!owned.has(key) || isIn(nobody, key)));
  return {
    shared: shared.length === 0 ? NOTHING : new Set(shared),
    ...(ownerless.length === 0 ? {} : { ownerless: new Set(ownerless) }),
  };
}

function inheritedAnnotations(
  managedFields: readonly ManagedFieldsEntry[],
  keys: ReadonlySet<string>,
): ReadonlySet<string> {
  const annotationsOf = (entry: ManagedFieldsEntry) => metadataFields(entry)?.['f:annotations'] ?? {};
  const ownersOf = (key: string) => managedFields.filter((entry) => `f:${key}` in annotationsOf(entry));
  const inherited = [...keys].filter((key) => {
    const owners = ownersOf(key).map(({ manager }) => manager);
    return owners.includes(PREDECESSOR_FIELD_MANAGER) && owners.every((owner) => OURS.has(owner));
  });
  return inherited.length === 0 ? NOTHING : new Set(inherited);
}

function metadataFields({ fieldsV1 }: ManagedFieldsEntry): Record<string, Record<string, unknown>> | undefined {
  return fieldsV1?.['f:metadata'] as Record<string, Record<string, unknown>> | undefined;
}

/** The labels and annotations in our own Apply entry of managedFields (fieldsV1, as KEP-555 defines it). */
function ownedKeys(managedFields: readonly ManagedFieldsEntry[], intern: Intern<string>): OwnedKeys {
  const entry = managedFields.find(isOurApply);
  const metadata = entry && metadataFields(entry);
  if (!metadata) return NO_KEYS;
  return { labels: keysIn(metadata['f:labels'], intern), annotations: keysIn(metadata['f:annotations'], intern) };
}

function isOurApply({ manager, operation, subresource }: ManagedFieldsEntry): boolean {
  return manager === FIELD_MANAGER && operation === 'Apply' && !subresource;
}

function keysIn(fields: Record<string, unknown> | undefined, intern: Intern<string>): ReadonlySet<string> {
  const keys = Object.keys(fields ?? {}).filter((field) => field.startsWith('f:'));
  return keys.length === 0 ? NOTHING : new Set(keys.map((field) => intern(field.slice(2))));
}

/** Whether nothing that a decision could depend on differs: a heartbeat of the kubelet is such an event. */
export function sameObservation(a: ObservedNode, b: ObservedNode): boolean {
  return (
    a.uid === b.uid &&
    (a.deleting === true) === (b.deleting === true) &&
    sameRecord(a.labels, b.labels) &&
    sameRecord(a.annotations, b.annotations) &&
    sameSet(a.owned.labels, b.owned.labels) &&
    sameSet(a.owned.annotations, b.owned.annotations) &&
    sameSet(a.inherited, b.inherited) &&
    sameSet(a.shared ?? NOTHING, b.shared ?? NOTHING) &&
    sameSet(a.ownerless ?? NOTHING, b.ownerless ?? NOTHING) &&
    sameTaints(a.taints, b.taints) &&
    sameConditions(a.conditions, b.conditions) &&
    sameOwners(a.conditionOwners ?? NO_CONDITION_OWNERS, b.conditionOwners ?? NO_CONDITION_OWNERS) &&
    sameRecord(a.allocatable ?? NO_RESOURCES, b.allocatable ?? NO_RESOURCES) &&
    sameFeatures(a.declared ?? NO_FEATURES, b.declared ?? NO_FEATURES) &&
    // Not known is not the same as none.
    (a.allocatable === undefined) === (b.allocatable === undefined)
  );
}

function sameTaints(a: ObservedNode['taints'] = NO_TAINTS, b: ObservedNode['taints'] = NO_TAINTS): boolean {
  return (
    a.length === b.length &&
    a.every(({ key, value, effect }, index) => {
      const other = b[index];
      return key === other?.key && value === other.value && effect === other.effect;
    })
  );
}

function sameFeatures(a: ReadonlyMap<string, boolean>, b: ReadonlyMap<string, boolean>): boolean {
  return a === b || (a.size === b.size && [...a].every(([name, is]) => b.get(name) === is));
}

function sameRecord(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((key) => b.has(key));
}

/** Whether a Node has exactly this taint: with another value or effect, it is another. */
export function hasTaint(
  taints: ObservedNode['taints'],
  wanted: { key: string; value: string; effect: string },
): boolean {
  return (
    taints?.some(
      ({ key, value = '', effect }) => key === wanted.key && value === wanted.value && effect === wanted.effect,
    ) === true
  );
}
