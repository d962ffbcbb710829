type Values = Readonly<Record<string, string>>;

/** What a receiver gets of a node. */
export type NodeMetadata = { labels: Values; annotations: Values };

/** Keys of a message that the receiver may or may not have processed, since it did not answer. */
export type Doubt = { labels: readonly string[]; annotations: readonly string[] };

/** A message, as k8s-node-label-monitor sends it: all fields are always there. */
export type NodeChange = {
  node: string;
  labelsAdded: Values;
  labelsDeleted: readonly string[];
  labelsUpdated: Values;
  annotationsAdded: Values;
  annotationsDeleted: readonly string[];
  annotationsUpdated: Values;
};

type Difference = { added: Values; deleted: readonly string[]; updated: Values };

export const NO_METADATA: NodeMetadata = { labels: {}, annotations: {} };
export const NO_DOUBT: Doubt = { labels: [], annotations: [] };

/** Far more than a node has; what is beyond it is forgotten. */
const KEYS_IN_DOUBT_MAX = 1000;

/**
 * What makes `now` out of `acknowledged`, or nothing if they are equal. What is in doubt is always in it, whatever
 * `acknowledged` says, so that the end is the same whether the receiver has heard of it or not.
 */
export function nodeChange(
  node: string,
  acknowledged: NodeMetadata,
  now: NodeMetadata,
  doubt: Doubt = NO_DOUBT,
): NodeChange | undefined {
  const labels = difference(acknowledged.labels, now.labels, doubt.labels);
  const annotations = difference(acknowledged.annotations, now.annotations, doubt.annotations);
  if (!labels && !annotations) return undefined;
  return {
    node,
    labelsAdded: labels?.added ?? {},
    labelsDeleted: labels?.deleted ?? [],
    labelsUpdated: labels?.updated ?? {},
    annotationsAdded: annotations?.added ?? {},
    annotationsDeleted: annotations?.deleted ?? [],
    annotationsUpdated: annotations?.updated ?? {},
  };
}

/** What is in doubt after a message that may or may not have been heard. What was in doubt before is in that message. */
export function doubtAfter(change: NodeChange): Doubt {
  const { labelsAdded, labelsUpdated, labelsDeleted, annotationsAdded, annotationsUpdated, annotationsDeleted } =
    change;
  return {
    labels: keysOf(labelsAdded, labelsUpdated, labelsDeleted),
    annotations: keysOf(annotationsAdded, annotationsUpdated, annotationsDeleted),
  };
}

function keysOf(added: Values, updated: Values, deleted: readonly string[]): readonly string[] {
  return [...Object.keys(added), ...Object.keys(updated), ...deleted].slice(0, KEYS_IN_DOUBT_MAX);
}

function difference(acknowledged: Values, now: Values, doubt: readonly string[]): Difference | undefined {
  if (acknowledged === now && doubt.length === 0) return undefined;
  const doubted = new Set(doubt);
  const added: Record<string, string> = {};
  const updated: Record<string, string> = {};
  for (const [key, value] of Object.entries(now)) {
    if (!Object.hasOwn(acknowledged, key)) added[key] = value;
    else if (acknowledged[key] !== value || doubted.has(key)) updated[key] = value;
  }
  const known = new Set([...Object.keys(acknowledged), ...doubted]);
  const deleted = [...known].filter((key) => !Object.hasOwn(now, key));
  const isEmpty = deleted.length === 0 && Object.keys(added).length === 0 && Object.keys(updated).length === 0;
  return isEmpty ? undefined : { added, deleted, updated };
}
