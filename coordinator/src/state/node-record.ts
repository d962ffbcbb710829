import type { AgentSessions } from './agent-sessions.ts';
import type { ShownMachine } from './machines.ts';
import type { Presence } from './presence.ts';

type NodeRecordParts = Pick<NodeRecord, 'name' | 'uid' | 'cameMs' | 'isNew' | 'sessions' | 'presence'>;

/**
 * One node in one term: the reports of its agent, and the memory of the other components about it. It begins with the uid of a Node,
 * or with the term, and ends with either; nothing of it is carried over.
 *
 * Other components keep what they remember of a node in a `WeakMap` by this record, and need not delete it.
 */
export class NodeRecord {
  readonly name: string;
  readonly uid: string;
  /** When this process saw the Node come, by the monotonic clock; `undefined` if the first list had it. */
  readonly cameMs: number | undefined;
  /** The Node came in this term. */
  readonly isNew: boolean;
  readonly sessions: AgentSessions;
  /** How well its agent is heard; of `freshness.ts`. */
  readonly presence: Presence;
  /** Pools that labels of the node name, besides the pool that it is in. */
  otherPools: readonly string[] = [];
  /** What the machine is like; of `machines.ts`. */
  machine: ShownMachine | undefined;
  /** The Node is gone, or the term is over. For those who have records in a queue. */
  ended = false;

  constructor({ name, uid, cameMs, isNew, sessions, presence }: NodeRecordParts) {
    this.name = name;
    this.uid = uid;
    this.cameMs = cameMs;
    this.isNew = isNew;
    this.sessions = sessions;
    this.presence = presence;
  }
}
