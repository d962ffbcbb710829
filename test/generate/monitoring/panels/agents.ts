import { quantile, type Row, rate } from '../panel.ts';

/** What agents see and say. */
export const AGENT_ROWS: readonly Row[] = [
  {
    title: 'Fleet',
    panels: [
      {
        title: 'Nodes',
        description: 'By how well their agent is heard, as the leader sees it.',
        unit: 'short',
        queries: [{ expr: 'sum by (state) (rollcall_coordinator_nodes)', legend: '{{state}}' }],
      },
      {
        title: 'Ready services',
        description: 'On how many nodes the probes of the agents find each service ready.',
        unit: 'short',
        queries: [{ expr: 'sum by (service) (rollcall_agent_service_ready)', legend: '{{service}}' }],
      },
      {
        title: 'Leader',
        description: 'The sum has to be 1.',
        unit: 'short',
        queries: [{ expr: 'rollcall_coordinator_leader', legend: '{{pod}}' }],
      },
      {
        title: 'Guards and held back services',
        description: 'Guards that hold, so that silence withdraws nothing, and services that came and went too often.',
        unit: 'short',
        queries: [
          { expr: 'max by (scope) (rollcall_coordinator_guard_active)', legend: 'guard of {{scope}}' },
          { expr: 'max(rollcall_coordinator_held_back_services)', legend: 'held back services' },
        ],
      },
      {
        title: 'Probes',
        description: 'What agents find, all together.',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (service, verdict) (${rate('rollcall_agent_probes_total')})`,
            legend: '{{service}}: {{verdict}}',
          },
        ],
      },
      {
        title: 'From the start of a pod to ready',
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
        description: 'As the coordinators took or refused them, by kind or status.',
        unit: 'ops',
        queries: [{ expr: `sum by (result) (${rate('rollcall_coordinator_reports_total')})`, legend: '{{result}}' }],
      },
      {
        title: 'Time to answer a report',
        description: 'In the coordinator.',
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
        description: 'Of the agents that had one accepted at all.',
        unit: 's',
        queries: [
          { expr: 'max(time() - (rollcall_agent_last_report_accepted_timestamp_seconds > 0))', legend: 'oldest' },
          { expr: 'avg(time() - (rollcall_agent_last_report_accepted_timestamp_seconds > 0))', legend: 'mean' },
        ],
      },
      {
        title: 'Agents that cannot report',
        description: 'Whose last report was not accepted.',
        unit: 'short',
        queries: [{ expr: 'sum(1 - rollcall_agent_coordinator_connected)', legend: 'agents' }],
      },
    ],
  },
];
