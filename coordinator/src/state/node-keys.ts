import {
  IMPLIED_LABELS_ANNOTATION,
  KEYS_ANNOTATION,
  MANAGED_LABELS_ANNOTATION,
  SERVICE_KEYS_ANNOTATION,
} from '@rollcall/common/well-known.ts';
import { LISTED_KINDS, type ListedKind } from '../model/keys/key-kinds.ts';
import { objectIn, parseAnnotation, sortedObject, textsIn } from './json-annotation.ts';

/**
 * Why rollcall set a key: a service of Gitpod, a NodeService with its uid, the labels of a pool, a rule, a rule that builds
 * on a label of a service, a device or a fact.
 */
export type Origin = 'gitpod' | `service:${string}` | 'pool' | 'rule' | 'rule:service' | 'device' | 'fact';

/** What a Node lists as set by rollcall: the origin of each key, by `kind:key`. */
export type NodeKeys = ReadonlyMap<string, Origin>;

type Annotated = { annotations: Readonly<Record<string, string>> };

/** More than the budgets let rollcall set on a Node: a longer list is another writer's, and costs the API server seconds. */
export const LISTED_KEYS_MAX = 4096;
const NO_KEYS: NodeKeys = new Map();
const parsed = new WeakMap<object, NodeKeys>();

export function listedKey(kind: ListedKind, key: string): string {
  return `${kind}:${key}`;
}

/** Splits what `listedKey` joined; `undefined` for anything else. */
export function splitListed(id: string): { kind: ListedKind; key: string } | undefined {
  const at = id.indexOf(':');
  const kind = LISTED_KINDS.find((each) => each === id.slice(0, at));
  return kind && { kind, key: id.slice(at + 1) };
}

/**
 * The keys that a Node lists as set by rollcall, including the annotations of earlier versions. A list that cannot
 * be read counts as empty.
 */
export function keysOn({ annotations }: Annotated): NodeKeys {
  const known = parsed.get(annotations);
  if (known) return known;
  const keys = read(annotations);
  parsed.set(annotations, keys);
  return keys;
}

/** The keys of one kind that a Node lists, with such an origin. */
export function listedOf(node: Annotated, kind: ListedKind, hasOrigin: (origin: Origin) => boolean = () => true) {
  const listed = new Set<string>();
  for (const [id, origin] of keysOn(node))
    if (id.startsWith(`${kind}:`) && hasOrigin(origin)) listed.add(id.slice(kind.length + 1));
  return listed;
}

/** Always the same text for the same keys; `undefined` where there are none. */
export function formatKeys(keys: NodeKeys): string | undefined {
  if (keys.size === 0) return undefined;
  return JSON.stringify(sortedObject(keys));
}

/** Parses the text of the annotation; nothing where it is absent, too long, or cannot be read. */
export function parseKeys(text: string | undefined): Map<string, Origin> {
  const entries = textsIn(parseAnnotation(text)).filter(([id]) => splitListed(id) !== undefined);
  return entries.length > LISTED_KEYS_MAX ? new Map() : new Map(entries as [string, Origin][]);
}

/** Whether a key says that a service is ready, directly or by way of a rule. */
export function isOfService(origin: Origin | undefined): boolean {
  return origin === 'gitpod' || origin === 'rule:service' || origin?.startsWith('service:') === true;
}

/** Whether a rule asked for the key. */
export function isOfRule(origin: Origin | undefined): boolean {
  return origin === 'rule' || origin === 'rule:service';
}

function read(annotations: Annotated['annotations']): NodeKeys {
  const listed = annotations[KEYS_ANNOTATION];
  const services = annotations[SERVICE_KEYS_ANNOTATION];
  const implied = annotations[IMPLIED_LABELS_ANNOTATION];
  const managed = annotations[MANAGED_LABELS_ANNOTATION];
  if (listed === undefined && services === undefined && implied === undefined && managed === undefined) return NO_KEYS;
  const keys = new Map<string, Origin>();
  const earlier = objectIn(parseAnnotation(services));
  for (const kind of LISTED_KINDS)
    for (const key of textsOf(earlier[`${kind}s`])) keys.set(listedKey(kind, key), 'service:');
  for (const key of textsOf(parseAnnotation(implied))) keys.set(listedKey('label', key), 'rule');
  for (const [id, origin] of parseKeys(listed)) if (origin !== 'pool') keys.set(id, origin);
  // Others write this list too, so it alone tells which labels are a pool's.
  for (const key of textsOf(parseAnnotation(managed))) keys.set(listedKey('label', key), 'pool');
  return keys;
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
