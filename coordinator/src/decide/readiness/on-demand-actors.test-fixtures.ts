import { SEEN_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import type { KubeObject } from '../../kube/objects.ts';
import type { OnNode } from '../../state/collection.ts';
import { ON_DEMAND, type OnDemandName, type OnDemandRow } from '../../state/on-demand-objects.ts';

/** A node for which something is there, which came at `createdAtMs`. */
type NodeIdentity = { name: string; uid: string; createdAtMs: number };

/** A kind of check by objects that are watched on demand, as tests play it. */
type OnDemandActor = {
  /** The settings of the check. */
  settings: object;
  /** Whether the check passes on a node without any object: it does where it asks that no object says something. */
  passesByNone: boolean;
  /** The object of a node by which the check passes there, or by which it does not. */
  object: (node: NodeIdentity, isGood: boolean) => KubeObject;
};

/** Played by `every-kind.test.ts`, and in `test/model` and `test/simulate`. */
export const ON_DEMAND_ACTORS = {
  csiNode: {
    settings: { driver: 'csi.example' },
    passesByNone: false,
    object: (node, isGood) => ({
      metadata: { ...metadataOf(node), name: node.name, ownerReferences: [{ kind: 'Node', uid: node.uid }] },
      spec: { drivers: isGood ? [{ name: 'csi.example' }] : [] },
    }),
  },
  dra: {
    settings: { driver: 'dra.example' },
    passesByNone: false,
    object: (node, isGood) => ({
      metadata: { ...metadataOf(node), ownerReferences: [{ kind: 'Node', uid: node.uid }] },
      spec: {
        ...{ driver: 'dra.example', nodeName: node.name, devices: isGood ? [{}] : [] },
        pool: { name: node.name, generation: 1, resourceSliceCount: 1 },
      },
    }),
  },
} as const satisfies { [K in keyof typeof SEEN_KINDS]?: OnDemandActor };

export type OnDemandKind = keyof typeof ON_DEMAND_ACTORS;
export const ON_DEMAND_KINDS = Object.keys(ON_DEMAND_ACTORS) as OnDemandKind[];
/** Those by which a node passes of which nothing is there. */
export const PASSED_BY_NONE = ON_DEMAND_KINDS.filter((kind) => ON_DEMAND_ACTORS[kind].passesByNone);

function metadataOf({ name, uid, createdAtMs }: NodeIdentity) {
  const creationTimestamp = new Date(createdAtMs).toISOString();
  return { name: `of-${name}`, uid: `of-${uid}`, resourceVersion: '1', creationTimestamp };
}

/** The object of a node as it is kept, and the collection that has it. */
export function onDemandObject(
  kind: OnDemandKind,
  node: NodeIdentity,
  isGood: boolean,
): { collection: OnDemandName; object: OnNode } {
  const actor: OnDemandActor = ON_DEMAND_ACTORS[kind];
  const collection = collectionOf(kind);
  const { observe }: OnDemandRow = ON_DEMAND[collection];
  return { collection, object: observe(actor.object(node, isGood) as never, []) };
}

export function collectionOf(kind: OnDemandKind): OnDemandName {
  const [name] = Object.entries(ON_DEMAND).find(([, { watched }]) => watched === SEEN_KINDS[kind].watched) ?? [];
  if (name === undefined) throw new Error(`What the kind ${kind} goes by has no row in ON_DEMAND`);
  return name as OnDemandName;
}
