/** What NFD knows of a node by one name: the text of an attribute, a flag, how many instances; `null` for what it lacks. */
export type FeatureValue = string | true | number | null;

/** By name, as rules have it. What no NodeFeature lists is not in it. */
export type Features = Readonly<Record<string, FeatureValue>>;

/** What a question and its answer may hold of a name. */
const NAME_LENGTH_MAX = 120;
const NAME = /^([A-Za-z0-9][A-Za-z0-9_-]*\.[A-Za-z0-9][A-Za-z0-9_-]*)(?:\.([A-Za-z0-9_][A-Za-z0-9_./-]*))?$/;

/**
 * `DOMAIN.FEATURE.ELEMENT`, or `DOMAIN.FEATURE` alone for its instances; `undefined` for what is neither. An element may
 * have dots of its own.
 */
export function featureName(text: string): { feature: string; element?: string } | undefined {
  if (text.length > NAME_LENGTH_MAX) return undefined;
  const [, feature, element] = NAME.exec(text) ?? [];
  if (feature === undefined) return undefined;
  return element === undefined ? { feature } : { feature, element };
}
