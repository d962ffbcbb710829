import { SEEN_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import type { KubeObject } from '../../kube/objects.ts';
import type { OnNode } from '../../state/collection.ts';
import { ON_DEMAND, type OnDemandName, type OnDemandRow } from '../../state/on-demand-objects.ts';

type NodeIdentity = { name: string; uid: string; createdAtMs: number };

/** A kind of check by objects that are watched on demand, as tests play it. */
type OnDemandActor = {
  /** The settings of the check. */
  settings: object;
  /** The object of a node by which the check passes there, or by which it does not. */
  object: (node: NodeIdentity, isGood: boolean) => KubeObject;
};

/** Played by `every-kind.test.ts`, and in `test/model` and `test/simulate`. */
export const ON_DEMAND_ACTORS = {
  csiNode: {
    settings: { driver: 'csi.example' },
    object: ({ name, uid }, isGood) => ({
      metadata: { ...metadataOf(name, uid), name, ownerReferences: [{ kind: 'Node', uid }] },
      spec: { drivers: isGood ? [{ name: 'csi.example' }] : [] },
    }),
  },
  dra: {
    settings: { driver: 'dra.example' },
    object: ({ name, uid }, isGood) => ({
      metadata: { ...metadataOf(name, uid), ownerReferences: [{ kind: 'Node', uid }] },
      spec: {
        ...{ driver: 'dra.example', nodeName: name, devices: isGood ? [{}] : [] },
        pool: { name, generation: 1, resourceSliceCount: 1 },
      },
    }),
  },
} as const satisfies { [K in keyof typeof SEEN_KINDS]?: OnDemandActor };

export type OnDemandKind = keyof typeof ON_DEMAND_ACTORS;
export const ON_DEMAND_KINDS = Object.keys(ON_DEMAND_ACTORS) as OnDemandKind[];

function metadataOf(node: string, uid: string) {
  return { name: `of-${node}`, uid: `of-${uid}`, resourceVersion: '1' };
}

/** The object of a node as it is kept, and the collection that has it. */
export function onDemandObject(
  kind: OnDemandKind,
  node: NodeIdentity,
  isGood: boolean,
): { collection: OnDemandName; object: OnNode } {
  const actor: OnDemandActor = ON_DEMAND_ACTORS[kind];
  const raw = actor.object(node, isGood);
  raw.metadata.creationTimestamp = new Date(node.createdAtMs).toISOString();
  const collection = collectionOf(kind);
  const { observe }: OnDemandRow = ON_DEMAND[collection];
  return { collection, object: observe(raw as never, []) };
}

export function collectionOf(kind: OnDemandKind): OnDemandName {
  const [name] = Object.entries(ON_DEMAND).find(([, { watched }]) => watched === SEEN_KINDS[kind].watched) ?? [];
  if (name === undefined) throw new Error(`What the kind ${kind} goes by has no row in ON_DEMAND`);
  return name as OnDemandName;
}
