import { quantile, type Row, rate } from '../panel.ts';

/** What agents see and say. */
export const AGENT_ROWS: readonly Row[] = [
  {
    title: 'Fleet',
    panels: [
      {
        title: 'Nodes',
        description: 'Nodes by the state of their agent, according to the leader.',
        unit: 'short',
        queries: [{ expr: 'sum by (state) (rollcall_coordinator_nodes)', legend: '{{state}}' }],
      },
      {
        title: 'Services',
        description: 'Nodes that each service is for, by the state of the service there, according to the leader.',
        unit: 'short',
        queries: [
          {
            expr: 'sum by (service, state) (rollcall_coordinator_service_nodes)',
            legend: '{{service}}: {{state}}',
          },
        ],
      },
      {
        title: 'Leader',
        description: '1 for the leader of an installation, 0 for standbys.',
        unit: 'short',
        queries: [{ expr: 'rollcall_coordinator_leader', legend: '{{pod}}' }],
      },
      {
        title: 'Active guards and held back services',
        description: 'Nodes from which guards keep something, and services that became not ready too often.',
        unit: 'short',
        queries: [
          { expr: 'max by (subject) (rollcall_coordinator_guarded_nodes)', legend: 'guard: {{subject}}' },
          { expr: 'max(rollcall_coordinator_held_back_services)', legend: 'held back services' },
        ],
      },
      {
        title: 'Probes',
        description: 'Probes of all agents, by service and verdict.',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (service, verdict) (${rate('rollcall_agent_probes_total')})`,
            legend: '{{service}}: {{verdict}}',
          },
        ],
      },
      {
        title: 'Pod start to ready',
        description:
          'Time from the start of the pod of a service until the node showed the service as ready, 99th percentile.',
        unit: 's',
        queries: [
          { expr: quantile(0.99, 'component', 'gitpod_node_labeler_ready_seconds_bucket'), legend: '{{component}}' },
        ],
      },
    ],
  },
  {
    title: 'Reports',
    panels: [
      {
        title: 'Reports',
        description: 'Reports that the coordinators accepted, by kind, or refused, by status code.',
        unit: 'ops',
        queries: [{ expr: `sum by (result) (${rate('rollcall_coordinator_reports_total')})`, legend: '{{result}}' }],
      },
      {
        title: 'Response time for reports',
        description: 'Time in the coordinator.',
        unit: 's',
        queries: [
          { expr: quantile(0.5, '', 'rollcall_coordinator_report_duration_seconds_bucket'), legend: 'median' },
          {
            expr: quantile(0.99, '', 'rollcall_coordinator_report_duration_seconds_bucket'),
            legend: '99th percentile',
          },
        ],
      },
      {
        title: 'Age of the last accepted report',
        description: 'Without agents that have never had a report accepted.',
        unit: 's',
        queries: [
          { expr: 'max(time() - (rollcall_agent_last_report_accepted_timestamp_seconds > 0))', legend: 'oldest' },
          { expr: 'avg(time() - (rollcall_agent_last_report_accepted_timestamp_seconds > 0))', legend: 'mean' },
        ],
      },
      {
        title: 'Agents that cannot report',
        description: 'Agents whose last report was not accepted.',
        unit: 'short',
        queries: [{ expr: 'sum(1 - rollcall_agent_coordinator_connected)', legend: 'agents' }],
      },
    ],
  },
];
