import type { ContestedKey } from '../apply/contested-keys.ts';
import type { NodeRecord } from '../fleet/node-record.ts';
import type { ObservedNode } from '../fleet/observed-node.ts';
import type { NodeSnapshot } from '../fleet/snapshot.ts';
import type { Service } from '../setup/services.ts';
import type { SetAsideKey } from './intent/plan.ts';
import type { JudgedNode } from './labelers/labeler.ts';

/** A key that does not stay as it is written, and who changes it. */
export type ContestedNews = Pick<ContestedKey, 'kind' | 'key' | 'rival'>;

/** Who tells people what became of services. */
export type Announcing = {
  /** What a Node shows at first sight in its term; later it is passed over. */
  sees: (record: NodeRecord, observed: ObservedNode, judged: JudgedNode) => void;
  /** What a Node shows after a write. */
  shows: (record: NodeRecord, observed: ObservedNode, judged: JudgedNode) => void;
  heldBack: (node: NodeSnapshot, service: Service) => void;
  /** The startup gate of a node was opened, at last without the labels that are missing. */
  gateOpened: (node: NodeSnapshot, missing: readonly string[]) => void;
  /** Keys that do not stay as they are written. */
  contested: (node: ObservedNode, keys: readonly ContestedNews[]) => void;
  /** Keys that are not written, as somebody else has them. */
  leftAlone: (node: ObservedNode, keys: readonly Pick<SetAsideKey, 'kind' | 'key' | 'message'>[]) => void;
};

/** What becomes of a change beyond the Node. */
export type Following = {
  /** A node may be other than it was. */
  look: (node: string) => void;
  forget: (node: string) => void;
  /** This replica begins to lead, or ends. */
  restart: () => void;
};
