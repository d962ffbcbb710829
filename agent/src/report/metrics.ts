import { Counter, Gauge, Histogram, type Registry } from '@rollcall/common/metrics.ts';

/** `refused`: the coordinator answered with an error. `failed`: it did not answer. */
export type ReportResult = 'accepted' | 'refused' | 'failed' | 'redirected';

const RESULTS: readonly ReportResult[] = ['accepted', 'refused', 'failed', 'redirected'];

export type ReportMetrics = {
  reports: Counter<'result'>;
  durationSeconds: Histogram;
  lastAccepted: Gauge;
  connected: Gauge;
  newSessions: Counter;
  errors: Counter;
};

export function registerReportMetrics(registry: Registry): ReportMetrics {
  const registers = [registry];
  const reports = new Counter({
    name: 'rollcall_agent_reports_total',
    help: 'Reports sent, by result: accepted, refused, failed (no answer), redirected (to the leader).',
    labelNames: ['result'],
    registers,
  });
  for (const result of RESULTS) reports.inc({ result }, 0);
  return {
    reports,
    durationSeconds: new Histogram({
      name: 'rollcall_agent_report_duration_seconds',
      help: 'Time from sending a report to its acceptance, including redirects, in seconds.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    lastAccepted: new Gauge({
      name: 'rollcall_agent_last_report_accepted_timestamp_seconds',
      help: 'Time at which the coordinator last accepted a report, in seconds since the epoch; 0 before the first one.',
      registers,
    }),
    newSessions: new Counter({
      name: 'rollcall_agent_new_sessions_total',
      help: 'Sessions begun because the coordinator did not count a report. More than a few: another client has the token.',
      registers,
    }),
    errors: new Counter({
      name: 'rollcall_agent_report_errors_total',
      help: 'Unexpected errors while a report was made or a reply was taken. The previous list of services stays.',
      registers,
    }),
    connected: new Gauge({
      name: 'rollcall_agent_coordinator_connected',
      help: '1 if the last report was accepted, otherwise 0.',
      registers,
    }),
  };
}
