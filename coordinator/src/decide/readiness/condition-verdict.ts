import { clean } from '@rollcall/common/clean.ts';
import type { Moment } from '@rollcall/common/clock.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { ConditionCheck } from '../../model/services.ts';
import { lastingOf } from '../../state/condition-history.ts';
import { conditionIn, doubtOf } from '../../state/reporters.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import type { Verdict } from './judges.ts';

const MISSING = { Unknown: 'unknown', Pass: 'ready', Fail: 'not-ready' } as const;

/**
 * What a condition that another component writes says of a node. While nothing vouches for it, nothing it says counts: it is
 * unknown for the silence window, and then not ready by silence, unless a guard holds.
 */
export function conditionVerdict(check: ConditionCheck, snapshot: NodeSnapshot, now: Moment): Verdict {
  const { type, status, forMs = 0, missing, reporter } = check.settings;
  const { conditions, podsKnown, silenceMs } = snapshot;
  if (!conditions)
    return { state: 'unknown', cause: 'unknown', reason: 'the conditions of the node are not known yet' };
  if (reporter && !podsKnown(reporter.namespace)) {
    return { state: 'unknown', cause: 'unknown', reason: `the pods in ${reporter.namespace} have not been listed yet` };
  }
  const doubt = doubtOf(check.settings, snapshot, now);
  if (doubt !== undefined) {
    const { sinceMs = now.monotonicMs, guard } = snapshot.doubt(check);
    const reason = `nothing vouches for the condition ${type}: ${doubt}`;
    if (guard !== undefined)
      return { state: 'unknown', cause: 'unknown', reason: `${reason}, as on most others (guard: ${guard})` };
    if (now.monotonicMs - sinceMs < silenceMs) return { state: 'unknown', cause: 'unknown', reason };
    return { state: 'not-ready', cause: 'silence', reason };
  }
  const condition = conditionIn(conditions, type);
  if (!condition) {
    const state = MISSING[missing];
    return { state, cause: state === 'unknown' ? 'unknown' : 'evidence', reason: `the node has no condition ${type}` };
  }
  const { reason: word, message, lastTransitionTime, history } = condition;
  const whose = snapshot.conditionWriters.get(type);
  const by = whose === undefined ? '' : `, written by ${whose}`;
  // Others wrote it, and it ends in conditions and Events of ours.
  const why = clean([word, message].filter((each) => each !== '').join(': '));
  const sinceMs = history ? history.sinceMs : Date.parse(lastTransitionTime ?? '') || undefined;
  const since = sinceMs === undefined ? '' : ` since ${rfc3339(sinceMs)}`;
  const reason = `the condition ${type} is ${condition.status}${since}${by}${why === '' ? '' : ` (${why})`}`;
  if (condition.status !== status) return { state: 'not-ready', cause: 'evidence', reason };
  const lasting = lastingOf(condition, forMs, snapshot, now);
  if (lasting.state === 'yes') return { state: 'ready', cause: 'evidence', reason };
  const wait = `${reason}; it must be so for ${forMs / 1000} s, which it will be at ${rfc3339(lasting.readyMs)}`;
  if (lasting.state === 'no') return { state: 'not-ready', cause: 'evidence', reason: wait };
  return { state: 'unknown', cause: 'unknown', reason: `${wait} at the latest, since its beginning was not seen` };
}
