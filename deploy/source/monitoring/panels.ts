import type { Row } from './panel.ts';
import { AGENT_ROWS } from './panels/agents.ts';
import { ANSWER_ROWS } from './panels/answers.ts';
import { FOLLOW_UP_ROWS } from './panels/follow-ups.ts';
import { LEDGER_ROWS } from './panels/ledger.ts';
import { WRITE_ROWS } from './panels/writes.ts';

/** Rows of the dashboard. Queries are without the choice of clusters and namespaces, which each selector gets. */
export const ROWS: readonly Row[] = [...ANSWER_ROWS, ...AGENT_ROWS, ...LEDGER_ROWS, ...WRITE_ROWS, ...FOLLOW_UP_ROWS];
