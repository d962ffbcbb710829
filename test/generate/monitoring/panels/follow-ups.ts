import { quantile, type Row, rate } from '../panel.ts';

/** What follows from labels, and the programs themselves. */
export const FOLLOW_UP_ROWS: readonly Row[] = [
  {
    title: 'What follows',
    panels: [
      {
        title: 'Startup gates',
        description: 'Opened as complete, or for having waited too long.',
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
        description: 'Attempts by what came of them, and pods that wait. Empty without --evict.',
        unit: 'short',
        queries: [
          {
            expr: `sum by (outcome) (${rate('rollcall_coordinator_evictions_total')})`,
            legend: '{{outcome}} a second',
          },
          { expr: 'max(rollcall_coordinator_evictions_pending)', legend: 'pending' },
        ],
      },
      {
        title: 'Notifications',
        description: 'Attempts by URL and what came of them, and nodes whose news wait. Empty without --notify-url.',
        unit: 'short',
        queries: [
          {
            expr: `sum by (notifier, outcome) (${rate('rollcall_coordinator_notifications_total')})`,
            legend: 'URL {{notifier}}: {{outcome}} a second',
          },
          {
            expr: 'max by (notifier) (rollcall_coordinator_notifications_pending)',
            legend: 'URL {{notifier}}: pending',
          },
        ],
      },
      {
        title: 'Events',
        description: 'News for Kubernetes Events, by what became of them.',
        unit: 'ops',
        queries: [{ expr: `sum by (outcome) (${rate('rollcall_coordinator_events_total')})`, legend: '{{outcome}}' }],
      },
    ],
  },
  {
    title: 'Scheduler extender',
    panels: [
      {
        title: 'Time to answer',
        description: 'Questions of kube-scheduler, 99th percentile.',
        unit: 's',
        queries: [
          { expr: quantile(0.99, 'verb', 'rollcall_coordinator_extender_duration_seconds_bucket'), legend: '{{verb}}' },
        ],
      },
      {
        title: 'Questions',
        description: 'By the status of the answer.',
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
        description: 'Nodes that workspaces were let onto (passed) or kept off, by the rule.',
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
        title: 'Life left of certificates',
        description: 'Of what coordinators serve (leaf), and of their own authority (ca).',
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
        description: 'Resident.',
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
        description: 'Share of a core.',
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
        description: 'How many of each version run.',
        unit: 'short',
        queries: [
          { expr: 'count by (version) (rollcall_coordinator_build_info)', legend: 'coordinator {{version}}' },
          { expr: 'count by (version) (rollcall_agent_build_info)', legend: 'agent {{version}}' },
        ],
      },
    ],
  },
];
