import type { NodeFeature } from '../kube/objects.ts';
import { type Features, type FeatureValue, featureName } from '../model/inventory/feature-name.ts';
import type { OnNode } from './collection.ts';
import { lastWriteMs } from './last-write.ts';

/** What one NodeFeature says of a node, as far as rules ask for it. */
export type ObservedNodeFeature = OnNode & {
  features: Features;
  /** When it was last written, by the wall clock. */
  writtenMs: number;
};

const NODE_LABEL = 'nfd.node.kubernetes.io/node-name';
/** Far more than a rule can ask for: no value of a label is as long. */
const VALUE_LENGTH_MAX = 128;

/** Keeps only these features of an object, which may have thousands. */
export function observeNodeFeature({ metadata, spec }: NodeFeature, names: readonly string[]): ObservedNodeFeature {
  const found = names.flatMap((name): [string, FeatureValue][] => {
    const value = valueIn(spec?.features ?? {}, name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    uid: metadata.uid,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    node: metadata.labels?.[NODE_LABEL] ?? '',
    features: Object.fromEntries(found),
    writtenMs: lastWriteMs(metadata),
  };
}

type Listed = NonNullable<NonNullable<NodeFeature['spec']>['features']>;

/** `undefined` where the feature is not listed at all: then NFD has not looked for the element. */
function valueIn({ flags, attributes, instances }: Listed, name: string): FeatureValue | undefined {
  const { feature = '', element } = featureName(name) ?? {};
  if (element === undefined) return own(instances, feature)?.elements?.length;
  const texts = own(attributes, feature)?.elements;
  const set = own(flags, feature)?.elements;
  const text = own(texts, element);
  if (text !== undefined) return text.slice(0, VALUE_LENGTH_MAX);
  if (own(set, element) !== undefined) return true;
  return texts || set ? null : undefined;
}

function own<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record && Object.hasOwn(record, key) ? record[key] : undefined;
}

/**
 * What all NodeFeatures of a node say together, merged as NFD's master does: of what several name, the last one counts,
 * and instances are added up. The object of NFD's worker, which has the name of the node, comes first, the others by
 * name. Those that were last written before the Node was created are of an earlier one of its name.
 */
export function mergedFeatures(
  objects: readonly ObservedNodeFeature[],
  { createdAtMs }: { createdAtMs: number },
): Features {
  const merged: Record<string, FeatureValue> = {};
  const own = objects.filter(({ writtenMs }) => writtenMs >= createdAtMs);
  for (const { features } of own.sort(byPrecedence)) {
    for (const [name, value] of Object.entries(features)) merged[name] = later(merged[name] ?? null, value);
  }
  return merged;
}

function byPrecedence(a: ObservedNodeFeature, b: ObservedNodeFeature): number {
  const [one, other] = [sortKey(a), sortKey(b)];
  return one < other ? -1 : Number(one > other);
}

function sortKey({ name, node, namespace }: ObservedNodeFeature): string {
  return `${name === node ? 0 : 1} ${name} ${namespace}`;
}

function later(before: FeatureValue, next: FeatureValue): FeatureValue {
  if (next === null) return before;
  return typeof before === 'number' && typeof next === 'number' ? before + next : next;
}
