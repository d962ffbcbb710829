import type { Alert, AlertGroup } from './alert.ts';
import { AGENT_ALERTS } from './alerts/agents.ts';
import { FOLLOW_UP_ALERTS } from './alerts/follow-ups.ts';
import { LEADER_ALERTS } from './alerts/leader.ts';
import { LEDGER_ALERTS } from './alerts/ledger.ts';
import { WRITE_ALERTS } from './alerts/writes.ts';

/** Every alert, in the groups in which Prometheus evaluates them. */
export const ALERT_GROUPS: readonly AlertGroup[] = [
  { name: 'rollcall-leader', alerts: LEADER_ALERTS },
  { name: 'rollcall-agents', alerts: AGENT_ALERTS },
  { name: 'rollcall-writes', alerts: WRITE_ALERTS },
  { name: 'rollcall-ledger', alerts: LEDGER_ALERTS },
  { name: 'rollcall-follow-ups', alerts: FOLLOW_UP_ALERTS },
];

export const ALERTS: readonly Alert[] = ALERT_GROUPS.flatMap(({ alerts }) => alerts);
