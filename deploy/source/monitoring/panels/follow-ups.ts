import { quantile, type Row, rate } from '../panel.ts';

/** What follows from labels, and the programs themselves. */
export const FOLLOW_UP_ROWS: readonly Row[] = [
  {
    title: 'Follow-ups',
    panels: [
      {
        title: 'Startup gates',
        description:
          'Startup gates that opened because nothing was missing (complete) or after the maximum wait time (expired).',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (outcome) (${rate('rollcall_coordinator_startup_gates_opened_total')})`,
            legend: '{{outcome}}',
          },
        ],
      },
      {
        title: 'Evictions',
        description: 'Attempts by outcome, and pods that wait for their eviction. Empty without --evict.',
        unit: 'short',
        queries: [
          {
            expr: `sum by (outcome) (${rate('rollcall_coordinator_evictions_total')})`,
            legend: '{{outcome}} per second',
          },
          { expr: 'max(rollcall_coordinator_evictions_pending)', legend: 'pending' },
        ],
      },
      {
        title: 'Notifications',
        description: 'Attempts by URL and outcome, and nodes with changes to post. Empty without --notify-url.',
        unit: 'short',
        queries: [
          {
            expr: `sum by (notifier, outcome) (${rate('rollcall_coordinator_notifications_total')})`,
            legend: 'URL {{notifier}}: {{outcome}} per second',
          },
          {
            expr: 'max by (notifier) (rollcall_coordinator_notifications_pending)',
            legend: 'URL {{notifier}}: pending',
          },
        ],
      },
      {
        title: 'Events',
        description: 'Occurrences for Kubernetes Events, by outcome.',
        unit: 'ops',
        queries: [{ expr: `sum by (outcome) (${rate('rollcall_coordinator_events_total')})`, legend: '{{outcome}}' }],
      },
    ],
  },
  {
    title: 'Scheduler extender',
    panels: [
      {
        title: 'Response time',
        description: 'Requests of kube-scheduler, 99th percentile.',
        unit: 's',
        queries: [
          { expr: quantile(0.99, 'verb', 'rollcall_coordinator_extender_duration_seconds_bucket'), legend: '{{verb}}' },
        ],
      },
      {
        title: 'Requests',
        description: 'Requests of kube-scheduler, by verb and status code.',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (verb, code) (${rate('rollcall_coordinator_extender_requests_total')})`,
            legend: '{{verb}}: {{code}}',
          },
        ],
      },
      {
        title: 'Verdicts',
        description: 'Nodes that the extender allowed (passed) or refused for workspaces, by rule.',
        unit: 'ops',
        queries: [
          { expr: `sum by (rule) (${rate('rollcall_coordinator_extender_verdicts_total')})`, legend: '{{rule}}' },
        ],
      },
    ],
  },
  {
    title: 'Programs',
    panels: [
      {
        title: 'Time until certificates expire',
        description: 'Serving certificate (leaf) and CA (ca) of the coordinators.',
        unit: 's',
        queries: [
          {
            expr: 'min by (certificate) (rollcall_coordinator_certificate_expiry_timestamp_seconds) - time()',
            legend: '{{certificate}}',
          },
        ],
      },
      {
        title: 'Memory',
        description: 'Resident memory.',
        unit: 'bytes',
        queries: [
          {
            expr: 'process_resident_memory_bytes and on (job, instance) rollcall_coordinator_build_info',
            legend: '{{pod}}',
          },
          {
            expr: 'max(process_resident_memory_bytes and on (job, instance) rollcall_agent_build_info)',
            legend: 'largest agent',
          },
          {
            expr: 'avg(process_resident_memory_bytes and on (job, instance) rollcall_agent_build_info)',
            legend: 'mean agent',
          },
        ],
      },
      {
        title: 'CPU',
        description: 'Share of one core.',
        unit: 'percentunit',
        queries: [
          {
            expr: `${rate('process_cpu_seconds_total')} and on (job, instance) rollcall_coordinator_build_info`,
            legend: '{{pod}}',
          },
          {
            expr: `max(${rate('process_cpu_seconds_total')} and on (job, instance) rollcall_agent_build_info)`,
            legend: 'busiest agent',
          },
        ],
      },
      {
        title: 'Versions',
        description: 'Number of programs of each version.',
        unit: 'short',
        queries: [
          { expr: 'count by (version) (rollcall_coordinator_build_info)', legend: 'coordinator {{version}}' },
          { expr: 'count by (version) (rollcall_agent_build_info)', legend: 'agent {{version}}' },
        ],
      },
    ],
  },
];
