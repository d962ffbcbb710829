import type { AgentState } from './console.ts';

/** How an agent is heard, for people, after "the agent is". */
export const AGENT_WORDS: Readonly<Record<AgentState, string>> = {
  fresh: 'reporting',
  leaving: 'stopping',
  unheard: 'not reporting yet',
  silent: 'silent',
  absent: 'missing',
  none: 'switched off',
};
