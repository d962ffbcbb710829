import type { FullReport, Heartbeat } from '@rollcall/common/report.ts';
import type { ReportIdentity, SessionResult } from './agent-sessions.ts';
import type { NodeRecord } from './node-record.ts';
import type { Term } from './term.ts';

type HeardReport = {
  record: NodeRecord;
  report: FullReport | Heartbeat;
  identity: ReportIdentity;
  /** When the pod of the agent was created, by the wall clock, as far as that is known. */
  podCreatedMs: number | undefined;
  /** Monotonic. */
  nowMs: number;
};

/** What became of a report, and whether the node changed by it. `isUrgent`: a label may have to go. */
type Hearing = { result: SessionResult; isChanged: boolean; isUrgent: boolean };

/** Takes a report of the Node of the record into the term. */
export function hearReport(
  { freshness, machines }: Pick<Term, 'freshness' | 'machines'>,
  { record, report, identity, podCreatedMs, nowMs }: HeardReport,
): Hearing {
  const { sessions } = record;
  const { state } = freshness.of(record);
  const before = sessions.content?.services;
  const result = sessions.admit(report, { ...identity, podCreatedMs }, nowMs);
  if (result === 'ignored' || result === 'superseded') return { result, isChanged: false, isUrgent: false };
  // An agent whose content is not here is alive, but vouches for nothing until it has sent it.
  if (result === 'unknown-digest') freshness.expect(record, nowMs);
  else if (result === 'leaving' ? sessions.speaker === report.boot : sessions.content && !report.leaving)
    freshness.heard(record, nowMs);
  if (result === 'leaving') freshness.goodbye(record, nowMs, true);
  const isOtherMachine = sessions.content !== undefined && machines.take(record, sessions.content, nowMs);
  const isUrgent = sessions.content?.services !== before || state !== 'fresh' || result === 'leaving';
  return { result, isChanged: isUrgent || isOtherMachine, isUrgent };
}
