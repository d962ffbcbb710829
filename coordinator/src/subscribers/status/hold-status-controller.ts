import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { WATCHED } from '@rollcall/common/watched-resources.ts';
import type { Holds } from '../../state/holds/holds.ts';
import type { ObservedNodeHold } from '../../state/holds/node-hold.ts';
import {
  conditionsOf,
  type ObjectCondition,
  StatusController,
  type StatusVerdict,
  type StatusWrites,
  statusPath,
  tellingOfInForce,
} from './status-controller.ts';

export type HoldStatusOptions = {
  writes: StatusWrites;
  holds: Holds;
  isNode: (name: string) => boolean;
  /** Why the pods that it names cannot be watched. */
  problemOf: (hold: ObservedNodeHold) => string | undefined;
};

type HoldStatus = { observedGeneration: number; nodesHeld: number; conditions: ObjectCondition[] };

const KIND = 'NodeHold';

/** Keeps the status of every NodeHold up to date. */
export function createHoldStatusController({ writes, holds, isNode, problemOf }: HoldStatusOptions) {
  const statusOf = (object: ObservedNodeHold): HoldStatus => ({
    observedGeneration: object.generation,
    nodesHeld: [...holds.nodesHeldBy(object)].filter(isNode).length,
    conditions: conditionsOf(holdInForce(object, problemOf(object)), {}, { object, now: rfc3339(writes.clock.now()) }),
  });
  return new StatusController({
    writes,
    kind: KIND,
    path: statusPath(WATCHED.nodeHolds),
    objects: holds.all,
    look: () => statusOf,
    tellingOf: (object, { conditions }) => tellingOfInForce(KIND, object, conditions),
  });
}

/** Whether a NodeHold is in force. `watchProblem`: why the pods that it names cannot be watched. */
export function holdInForce({ problem }: ObservedNodeHold, watchProblem: string | undefined): StatusVerdict {
  const refused = (reason: string, what: string): StatusVerdict => ({
    status: 'False',
    reason,
    message: `${what}. Until then, no node is released`,
  });
  if (problem !== undefined) return refused('UnknownField', problem);
  if (watchProblem !== undefined) return refused('NotPermitted', watchProblem);
  return { status: 'True', reason: 'InForce', message: 'Nodes with such pods are protected' };
}
