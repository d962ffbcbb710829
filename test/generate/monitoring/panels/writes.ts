import { quantile, type Row, rate } from '../panel.ts';

/** What is written, and what it comes from. */
export const WRITE_ROWS: readonly Row[] = [
  {
    title: 'Writes',
    panels: [
      {
        title: 'Writes to Nodes',
        description: 'By what came of them. In steady state there are none.',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (kind, outcome) (${rate('rollcall_coordinator_patches_total')})`,
            legend: '{{kind}}: {{outcome}}',
          },
        ],
      },
      {
        title: 'Time of a write',
        description: 'Until the API server answered, 99th percentile.',
        unit: 's',
        queries: [
          { expr: quantile(0.99, 'kind', 'rollcall_coordinator_patch_duration_seconds_bucket'), legend: '{{kind}}' },
        ],
      },
      {
        title: 'From evidence to the Node',
        description: 'Until what follows from what was heard is on the Node.',
        unit: 's',
        queries: [
          { expr: quantile(0.5, '', 'rollcall_coordinator_evidence_to_applied_seconds_bucket'), legend: 'median' },
          {
            expr: quantile(0.99, '', 'rollcall_coordinator_evidence_to_applied_seconds_bucket'),
            legend: '99th percentile',
          },
        ],
      },
      {
        title: 'Queue',
        description: 'Nodes that wait for a write, and how many may be under way at once.',
        unit: 'short',
        queries: [
          { expr: 'max(rollcall_coordinator_queue_depth)', legend: 'waiting' },
          { expr: 'max(rollcall_coordinator_write_concurrency)', legend: 'at once' },
        ],
      },
      {
        title: 'Keys that are set aside',
        description:
          'Held by others (foreign), not valid, or refused by a policy (denied); and labels of pools that may not be.',
        unit: 'short',
        queries: [
          { expr: 'max by (cause) (rollcall_coordinator_set_aside_keys)', legend: '{{cause}}' },
          { expr: 'max(rollcall_coordinator_refused_pool_keys)', legend: 'refused in NodePoolLabelSets' },
        ],
      },
      {
        title: 'Requests to the API server',
        description: 'By their status.',
        unit: 'ops',
        queries: [{ expr: `sum by (code) (${rate('rollcall_coordinator_kube_requests_total')})`, legend: '{{code}}' }],
      },
    ],
  },
  {
    title: 'Hardware and rules',
    panels: [
      {
        title: 'Collectors that fail',
        description: 'On how many nodes.',
        unit: 'short',
        queries: [{ expr: 'sum by (collector) (1 - rollcall_agent_collector_success)', legend: '{{collector}}' }],
      },
      {
        title: 'Time of a reading',
        description: 'The longest of all nodes.',
        unit: 's',
        queries: [{ expr: 'max by (collector) (rollcall_agent_collector_duration_seconds)', legend: '{{collector}}' }],
      },
      {
        title: 'Devices',
        description: 'In the reports of all nodes, and those that were left out.',
        unit: 'short',
        queries: [
          { expr: 'sum by (bus) (rollcall_agent_devices)', legend: '{{bus}}' },
          { expr: 'sum by (bus) (rollcall_agent_devices_left_out)', legend: '{{bus}}, left out' },
        ],
      },
      {
        title: 'Problems of rule files',
        description: 'Lines and files that do not count.',
        unit: 'short',
        queries: [{ expr: 'max(rollcall_coordinator_rule_problems)', legend: 'problems' }],
      },
    ],
  },
];
