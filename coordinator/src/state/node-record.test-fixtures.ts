import { AgentSessions } from './agent-sessions.ts';
import { createIntern } from './intern.ts';
import { NodeRecord } from './node-record.ts';
import type { Presence } from './presence.ts';

const NEVER_HEARD: Presence = {
  pool: undefined,
  heardMs: undefined,
  goodbyeMs: undefined,
  expectedMs: undefined,
  renewedMs: 0,
  wasHeard: false,
  hasVoice: false,
  guard: undefined,
};

type Change = { cameMs?: number; isNew?: boolean; presence?: Partial<Presence> };

/** Of a node that was there before the process, and of which nothing is known yet; or one that is different. */
export function nodeRecord(name = 'n', uid = 'u', { cameMs, isNew = false, presence = {} }: Change = {}): NodeRecord {
  const sessions = new AgentSessions(30_000, createIntern());
  return new NodeRecord({ name, uid, cameMs, isNew, sessions, presence: { ...NEVER_HEARD, ...presence } });
}
