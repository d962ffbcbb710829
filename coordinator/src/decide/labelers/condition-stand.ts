import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { Cause } from '../../model/inventory/cause.ts';
import type { ServiceReadiness } from '../readiness/tracker.ts';
import type { Claim } from './labeler.ts';

const SAID = {
  True: { reason: 'ServiceReady', what: 'is ready' },
  False: { reason: 'ServiceNotReady', what: 'is not ready' },
  Unknown: { reason: 'AgentSilent', what: 'may be ready or not' },
} as const;

/**
 * What a node's condition is to say of a service. Reason and message are those of the moment in which the status became
 * so: they move with it alone. `nowMs` is by the wall clock.
 */
export function conditionStand(
  service: string,
  { state, reason, sinceMs, cause }: ServiceReadiness,
  nowMs: number,
): Pick<Claim, 'stance' | 'value' | 'reason' | 'sinceMs' | 'news' | 'cause'> {
  if (state === 'unknown') return { stance: 'hold', value: '', reason, sinceMs, cause };
  const value = statusOf(state, cause);
  const said = SAID[value];
  const news = { reason: said.reason, message: `${service} ${said.what}: ${reason}`, at: rfc3339(nowMs) };
  return { stance: 'want', value, reason, sinceMs, news, cause };
}

function statusOf(state: 'ready' | 'not-ready', cause: Cause): keyof typeof SAID {
  if (state === 'ready') return 'True';
  return cause === 'silence' ? 'Unknown' : 'False';
}
