import type { KubeObject, Pod } from '../kube/objects.ts';
import { formatSelector, formatUnion, keysOfSelector, type LabelSelector, selects } from '../model/label-selector.ts';
import type { OnNode } from '../state/collection.ts';
import { share } from '../state/observed-pod.ts';
import type { WatchedPart } from './resource-watch.ts';

type Labelled = OnNode & { labels: Readonly<Record<string, string>> };

/** The pods to watch, each namespace once however many ask for them. */
export function podParts<T extends Labelled>(
  wanted: readonly { namespace: string; selector: LabelSelector }[],
  observe: (pod: Pod) => T,
): (WatchedPart<T> & { namespace: string })[] {
  return [...Map.groupBy(wanted, ({ namespace }) => namespace)].map(([namespace, all]) => {
    const texts = all.map(({ selector }) => [formatSelector(selector), selector] as const);
    const distinct = new Map(texts.sort(([a], [b]) => (a < b ? -1 : 1)));
    const selectors = [...distinct.values()];
    const keys = new Set(selectors.flatMap(keysOfSelector));
    return {
      namespace,
      labelSelector: formatUnion(selectors),
      kept: JSON.stringify([...distinct.keys()]),
      transform: (raw: KubeObject) => only(observe(raw as Pod), selectors, keys),
    };
  });
}

/**
 * Treats a pod that no selector asks for like a pod on no node. Of its labels, those that selectors name are kept: a change
 * of another one changes nothing.
 */
function only<T extends Labelled>(pod: T, selectors: readonly LabelSelector[], keys: ReadonlySet<string>): T {
  const isSelected = selectors.some((selector) => selects(selector, pod.labels));
  const labels = share(Object.fromEntries(Object.entries(pod.labels).filter(([key]) => keys.has(key))));
  return { ...pod, labels, ...(isSelected ? {} : { node: '' }) };
}
