import { clean } from '@rollcall/common/clean.ts';
import type { CsiNode, StorageHealthCondition } from '../kube/objects.ts';

/** Which CSI drivers are on a node. */
export type ObservedCsiNode = {
  name: string;
  /** Uid of the Node that it is of: it outlives one that is made anew under the same name. */
  nodeUid: string;
  drivers: readonly string[];
  /** What drivers report of the storage behind them, by driver; only drivers that report a problem. */
  storageProblems: ReadonlyMap<string, string>;
};

export function observeCsiNode({ metadata, spec, status }: CsiNode): ObservedCsiNode {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'Node');
  const health = status?.storageHealth ?? [];
  const problems = health.flatMap(({ name, healthConditions: [first] = [] }): [string, string][] =>
    first ? [[name, problemOf(first)]] : [],
  );
  return {
    name: metadata.name,
    nodeUid: owner?.uid ?? '',
    drivers: spec?.drivers?.map(({ name }) => name).sort() ?? [],
    storageProblems: new Map(problems),
  };
}

function contentOf({ nodeUid, drivers, storageProblems }: ObservedCsiNode): string {
  return JSON.stringify([nodeUid, drivers, [...storageProblems]]);
}

function problemOf({ status, reason = '', message = '' }: StorageHealthCondition): string {
  return clean([status, reason, message].filter((each) => each !== '').join(': '));
}

/** The CSINodes, by node. `undefined` for all while they are not known. */
export class CsiNodes {
  readonly #byName = new Map<string, ObservedCsiNode>();
  readonly #onChange: (node: string) => void;
  readonly #onKnown: () => void;
  known = false;

  /** `onKnown`: they were listed for the first time, which also tells which nodes have none. */
  constructor(onChange: (node: string) => void, onKnown: () => void) {
    this.#onChange = onChange;
    this.#onKnown = onKnown;
  }

  of(node: string): ObservedCsiNode | undefined {
    return this.#byName.get(node);
  }

  replace(all: readonly ObservedCsiNode[]): void {
    const wasKnown = this.known;
    this.known = true;
    const listed = new Set(all.map(({ name }) => name));
    for (const each of all) this.upsert(each);
    for (const name of [...this.#byName.keys()]) if (!listed.has(name)) this.remove({ name });
    if (!wasKnown) this.#onKnown();
  }

  upsert(next: ObservedCsiNode): void {
    const before = this.#byName.get(next.name);
    this.#byName.set(next.name, next);
    if (!before || contentOf(before) !== contentOf(next)) this.#onChange(next.name);
  }

  remove({ name }: Pick<ObservedCsiNode, 'name'>): void {
    if (this.#byName.delete(name)) this.#onChange(name);
  }
}
