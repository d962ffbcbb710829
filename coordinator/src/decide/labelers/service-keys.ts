import { SERVICE_KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';

/** What a node has because of services. */
export type ServiceKeySets = Record<(typeof KINDS)[number], ReadonlySet<string>>;

/** Why what may be of a service stays while nobody knows the services. */
export const SERVICES_UNKNOWN = 'it may belong to a NodeService; these have not been listed yet';

const KINDS = ['labels', 'taints', 'conditions'] as const;
const NO_KEYS: ServiceKeySets = { labels: new Set(), taints: new Set(), conditions: new Set() };

/** Nothing where the annotation is absent; `undefined` where it cannot be read. Kinds that are not known are passed over. */
export function parseServiceKeys(text: string | undefined): ServiceKeySets | undefined {
  if (text === undefined) return NO_KEYS;
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
    const [labels, taints, conditions] = KINDS.map((kind) => (value as Record<string, unknown>)[kind] ?? []);
    if (!isKeys(labels) || !isKeys(taints) || !isKeys(conditions)) return undefined;
    return { labels: new Set(labels), taints: new Set(taints), conditions: new Set(conditions) };
  } catch {
    // It says nothing.
  }
  return undefined;
}

/** Always the same text for the same keys; `undefined` where there are none. */
export function formatServiceKeys(keys: ServiceKeySets): string | undefined {
  const lists = KINDS.map((kind) => [kind, [...keys[kind]].sort()] as const).filter(([, list]) => list.length > 0);
  return lists.length === 0 ? undefined : JSON.stringify(Object.fromEntries(lists));
}

/** What the node itself says; none where that cannot be read. */
export function serviceKeysOn({ annotations }: { annotations: Readonly<Record<string, string>> }): ServiceKeySets {
  return parseServiceKeys(annotations[SERVICE_KEYS_ANNOTATION]) ?? NO_KEYS;
}

function isKeys(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
