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

type Change = { wasThere?: boolean; presence?: Partial<Presence> };

/** Of a node that was there when the term began, and of which nothing is known yet; or one that is different. */
export function nodeRecord(name = 'n', uid = 'u', { wasThere = true, presence = {} }: Change = {}): NodeRecord {
  const sessions = new AgentSessions(30_000, createIntern());
  return new NodeRecord({ name, uid, wasThere, sessions, presence: { ...NEVER_HEARD, ...presence } });
}
