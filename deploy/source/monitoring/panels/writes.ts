import { quantile, type Row, rate } from '../panel.ts';

/** Writes and their causes. */
export const WRITE_ROWS: readonly Row[] = [
  {
    title: 'Writes',
    panels: [
      {
        title: 'Writes to Nodes',
        description: 'Writes by kind and outcome. There are none while nothing changes.',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (kind, outcome) (${rate('rollcall_coordinator_patches_total')})`,
            legend: '{{kind}}: {{outcome}}',
          },
        ],
      },
      {
        title: 'Duration of writes',
        description: 'Time until the API server answered, 99th percentile.',
        unit: 's',
        queries: [
          { expr: quantile(0.99, 'kind', 'rollcall_coordinator_patch_duration_seconds_bucket'), legend: '{{kind}}' },
        ],
      },
      {
        title: 'Evidence to Node',
        description: 'Time from the arrival of evidence until the resulting keys are on the Node.',
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
        description: 'Nodes that wait for a write, and writes that are not answered yet, at most 16.',
        unit: 'short',
        queries: [
          { expr: 'max(rollcall_coordinator_queue_depth)', legend: 'waiting' },
          { expr: 'max(rollcall_coordinator_writes_in_flight)', legend: 'under way' },
        ],
      },
      {
        title: 'Keys skipped',
        description:
          'Keys that others own (foreign), that are invalid, or that a policy refuses (denied); and refused labels of pools.',
        unit: 'short',
        queries: [
          { expr: 'max by (cause) (rollcall_coordinator_skipped_keys)', legend: '{{cause}}' },
          { expr: 'max(rollcall_coordinator_refused_pool_keys)', legend: 'refused for pools' },
        ],
      },
      {
        title: 'Requests to the API server',
        description: 'Requests by status code.',
        unit: 'ops',
        queries: [{ expr: `sum by (code) (${rate('rollcall_coordinator_kube_requests_total')})`, legend: '{{code}}' }],
      },
    ],
  },
  {
    title: 'Hardware and rules',
    panels: [
      {
        title: 'Failing collectors',
        description: 'Number of nodes, by collector.',
        unit: 'short',
        queries: [{ expr: 'sum by (collector) (1 - rollcall_agent_collector_success)', legend: '{{collector}}' }],
      },
      {
        title: 'Duration of collectors',
        description: 'Longest last run on any node.',
        unit: 's',
        queries: [{ expr: 'max by (collector) (rollcall_agent_collector_duration_seconds)', legend: '{{collector}}' }],
      },
      {
        title: 'Devices',
        description: 'Entries in the reports of all nodes, and devices that were left out.',
        unit: 'short',
        queries: [
          { expr: 'sum by (bus) (rollcall_agent_devices)', legend: '{{bus}}' },
          { expr: 'sum by (bus) (rollcall_agent_devices_left_out)', legend: '{{bus}}, left out' },
        ],
      },
      {
        title: 'Errors in rule files',
        description: 'Ignored lines and files, and rules in a cycle.',
        unit: 'short',
        queries: [{ expr: 'max(rollcall_coordinator_rule_problems)', legend: 'problems' }],
      },
    ],
  },
];
