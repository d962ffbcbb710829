import type { ContestedKey, SkippedKey } from '../decide/intent/plan.ts';
import type { EvaluatedNode } from '../decide/labelers/labeler.ts';
import type { Service } from '../model/services.ts';
import type { NodeRecord } from '../state/node-record.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import type { NodeSnapshot } from '../state/snapshot.ts';

/** Callbacks for those who follow the nodes: Events, metrics, eviction, notification, the console. */
export type Subscribers = {
  /** A node may be other than it was. */
  changed: (node: string) => void;
  /** The Node is gone. */
  forget: (node: string) => void;
  /** This replica begins to lead, or ends. */
  restart: () => void;
  /** Called with each observed Node. Only the first call for a Node in a term counts. */
  sees: (record: NodeRecord, observed: ObservedNode, evaluated: EvaluatedNode) => void;
  /** What a Node shows after a write. */
  shows: (record: NodeRecord, observed: ObservedNode, evaluated: EvaluatedNode) => void;
  /** A service begins to be held back. */
  heldBack: (node: NodeSnapshot, service: Service) => void;
  /** A service was never ready on a node, and its startup deadline is over. */
  late: (node: EvaluatedNode, service: Service) => void;
  /** The startup gate of a node was opened, at last without the labels that are missing. */
  gateOpened: (node: NodeSnapshot, missing: readonly string[]) => void;
  /** A node has waited for long at the startup gate, or as long as it should (`isOver`), and waits on for what is missing. */
  gateWaits: (node: NodeSnapshot, missing: readonly string[], isOver: boolean) => void;
  /** Keys that do not stay as they are written. */
  contested: (node: ObservedNode, keys: readonly ContestedKey[]) => void;
  /** Called with keys that are not written, since another writer has them. */
  leftAlone: (node: ObservedNode, keys: readonly Pick<SkippedKey, 'kind' | 'key' | 'message'>[]) => void;
};
