import type {
  AuditDocument,
  DiffDocument,
  NodeDocument,
  NodesDocument,
  ReplicaDocument,
  ScheduleDocument,
} from '@rollcall/common/console.ts';

/*
 * A coordinator that is older than this program leaves out what its documents did not have yet: lists are then empty, and
 * what is not known is said to be unknown.
 */

/** `GET /v1/nodes` */
export function completedNodes({ replica, nodes = [], ...rest }: NodesDocument): NodesDocument {
  const complete = nodes.map((node) => ({
    ...node,
    agent: node.agent ?? 'absent',
    services: node.services ?? {},
    heldBack: node.heldBack ?? [],
    contested: node.contested ?? [],
    skipped: node.skipped ?? [],
    pending: node.pending ?? false,
  }));
  return { ...rest, replica: completedReplica(replica), nodes: complete };
}

/** `GET /v1/nodes/NAME` */
export function completedNode({
  replica,
  services = [],
  keys = [],
  changes = [],
  ...rest
}: NodeDocument): NodeDocument {
  return {
    ...rest,
    replica: completedReplica(replica),
    agent: rest.agent ?? { state: 'absent' },
    services: services.map((service) => ({ ...service, asks: service.asks ?? ASKS, pods: service.pods ?? [] })),
    keys,
    changes,
  };
}

/** As nearly every service does. */
const ASKS = { pods: true, probe: true };

/** `GET /v1/audit` */
export function completedAudit({ replica, keys = [], entries = [], ...rest }: AuditDocument): AuditDocument {
  return { ...rest, replica: completedReplica(replica), keys, entries };
}

/** `POST /v1/diff` */
export function completedDiff(document: DiffDocument): DiffDocument {
  const { replica, problems = [], notes = [], nodes = [], ...rest } = document;
  const complete = nodes.map((node) => ({ ...node, evicted: node.evicted ?? [] }));
  return { ...rest, replica: completedReplica(replica), problems, notes, nodes: complete };
}

/** `GET /v1/schedule` */
export function completedSchedule({ replica, nodes = [], ...rest }: ScheduleDocument): ScheduleDocument {
  const complete = nodes.map((node) => ({ ...node, refusals: node.refusals ?? [], terms: node.terms ?? [] }));
  return { ...rest, replica: completedReplica(replica), nodes: complete };
}

function completedReplica(replica: ReplicaDocument): ReplicaDocument {
  const unknown = { name: 'unnamed', version: 'of unknown version', guards: [], heldWithdrawals: [] };
  return { ...unknown, ...replica };
}
