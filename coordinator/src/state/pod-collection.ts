import { formatSelector, type LabelSelector, selects } from '../model/label-selector.ts';
import { Collection, type CollectionOptions, hasSameFields, type ObjectChange, type OnNode } from './collection.ts';

type Labelled = OnNode & { labels: Readonly<Record<string, string>> };
type Wanted = { namespace: string; selector: LabelSelector };
/** The pods of a node that each selector selects. */
type Selected = Map<string, Wanted & { pods: readonly Labelled[] }>;

/** Pods on a node from which what selectors select is kept from one change to the next. */
const MANY = 64;
const selectedOf = new WeakMap<readonly OnNode[], Selected>();

/**
 * The pods of a node that a selector selects. Where there are many, the very same list as before where nothing changed for
 * the selector, so that a change of a pod costs only those that select it.
 */
export function selectedIn<T extends Labelled>(pods: readonly T[], { namespace, selector }: Wanted): readonly T[] {
  const isSelected = (pod: T) => pod.namespace === namespace && selects(selector, pod.labels);
  const known = selectedOf.get(pods);
  if (!known) return pods.filter(isSelected);
  const key = `${namespace} ${formatSelector(selector)}`;
  const found = known.get(key) ?? { namespace, selector, pods: pods.filter(isSelected) };
  known.set(key, found);
  return found.pods as readonly T[];
}

/** What selectors select after a pod of the node took the place of another, or of none. */
function afterChange(known: Selected, before: Labelled | undefined, after: Labelled | undefined): Selected {
  const next: Selected = new Map();
  for (const [key, wanted] of known) {
    const [was, is] = [before, after].map(
      (pod) => pod?.namespace === wanted.namespace && selects(wanted.selector, pod.labels),
    );
    const at = was && before ? wanted.pods.indexOf(before) : -1;
    const others = at < 0 ? wanted.pods : wanted.pods.toSpliced(at, 1);
    next.set(key, was || is ? { ...wanted, pods: is && after ? [...others, after] : others } : wanted);
  }
  return next;
}

/** Pods by node. Each namespace is a part of its own. On nodes with many pods, what selectors select is kept. */
export class PodCollection<T extends Labelled> extends Collection<T> {
  /** What selectors select on nodes with many pods. */
  readonly #selected = new Map<string, Selected>();

  constructor(options: Pick<CollectionOptions<T>, 'lostIsUnknown'> = {}) {
    super({ ...options, at: ({ node }) => node, isSame: hasSameFields });
  }

  override on(node: string): readonly T[] {
    const all = super.on(node);
    if (all.length < MANY || selectedOf.has(all)) return all;
    const selected = this.#selected.get(node) ?? new Map();
    this.#selected.set(node, selected);
    selectedOf.set(all, selected);
    return all;
  }

  /** Other selectors may be asked for. */
  override renew(namespace: string): void {
    this.#selected.clear();
    super.renew(namespace);
  }

  protected override changedAt(node: string, { previous, next }: ObjectChange<T>, isOfList: boolean): void {
    const selected = isOfList || this.countOn(node) < MANY ? undefined : this.#selected.get(node);
    if (selected) this.#selected.set(node, afterChange(selected, previous, next));
    else this.#selected.delete(node);
  }
}
