import { clean } from '@rollcall/common/clean.ts';
import type { CsiNode, StorageHealthCondition } from '../kube/objects.ts';
import type { OnNode } from './collection.ts';

/** Which CSI drivers are on a node. */
export type ObservedCsiNode = OnNode & {
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
    uid: metadata.uid,
    namespace: '',
    name: metadata.name,
    node: metadata.name,
    nodeUid: owner?.uid ?? '',
    drivers: spec?.drivers?.map(({ name }) => name).sort() ?? [],
    storageProblems: new Map(problems),
  };
}

function problemOf({ status, reason = '', message = '' }: StorageHealthCondition): string {
  return clean([status, reason, message].filter((each) => each !== '').join(': '));
}
