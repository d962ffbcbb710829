import type { Row } from './panel.ts';
import { AGENT_ROWS } from './panels/agents.ts';
import { FOLLOW_UP_ROWS } from './panels/follow-ups.ts';
import { WRITE_ROWS } from './panels/writes.ts';

/** What is on the dashboard. Queries are without the choice of a namespace, which each selector gets. */
export const ROWS: readonly Row[] = [...AGENT_ROWS, ...WRITE_ROWS, ...FOLLOW_UP_ROWS];
