import type { Alert } from '../alert.ts';

const ROLLCALL = { namespace: 'rollcall' };

function patches(kind: string, outcome: string): string {
  return `rollcall_coordinator_patches_total{namespace="rollcall",pod="coordinator-0",kind="${kind}",outcome="${outcome}"}`;
}

function skipped(cause: string): string {
  return `rollcall_coordinator_skipped_keys{namespace="rollcall",pod="coordinator-0",cause="${cause}"}`;
}

function applied(le: string): string {
  return `rollcall_coordinator_evidence_to_applied_seconds_bucket{namespace="rollcall",pod="coordinator-0",le="${le}"}`;
}

/** Alerts about the way from a decision to the Node. */
export const WRITE_ALERTS: readonly Alert[] = [
  {
    name: 'RollcallWritesFailing',
    threshold: { value: 0.05, help: 'Share of writes to Nodes that may fail.' },
    expr:
      'sum by (namespace) (rate(rollcall_coordinator_patches_total{outcome=~"failed|throttled"}[5m]))\n' +
      '  / sum by (namespace) (rate(rollcall_coordinator_patches_total[5m])) > 0.05',
    for: '10m',
    severity: 'critical',
    summary: 'Writes to Nodes fail',
    description:
      '{{ $value | humanizePercentage }} of the writes to Nodes fail in {{ $labels.namespace }}, and are retried.',
    cases: [
      {
        name: 'the API server is in trouble',
        series: { [patches('set', 'applied')]: '0+90x30', [patches('set', 'failed')]: '0+30x30' },
        after: '20m',
        fires: [{ labels: ROLLCALL, says: '25% of the writes to Nodes fail in rollcall, and are retried.' }],
      },
      {
        name: 'conflicts, and nothing to do later on',
        series: {
          [patches('set', 'applied')]: '0+60x5 300+0x30',
          [patches('set', 'stale')]: '0+60x30',
          [patches('set', 'failed')]: '0+30x5 150+0x30',
        },
        after: '20m',
      },
    ],
  },
  {
    name: 'RollcallTaintsRefused',
    expr: 'sum by (namespace, outcome) (increase(rollcall_coordinator_patches_total{kind=~"taints|conditions",outcome=~"denied|invalid"}[15m])) > 0',
    for: '5m',
    severity: 'warning',
    summary: 'The API server refuses taints or conditions that rollcall writes',
    description:
      'Taints or conditions of Nodes could not be written in {{ $labels.namespace }}: {{ $labels.outcome }}.',
    cases: [
      {
        name: 'a policy is in the way',
        series: { [patches('taints', 'denied')]: '1+1x20' },
        after: '10m',
        fires: [
          {
            labels: { ...ROLLCALL, outcome: 'denied' },
            says: 'Taints or conditions of Nodes could not be written in rollcall: denied.',
          },
        ],
      },
      {
        name: 'the right to patch the status of Nodes is missing',
        series: { [patches('conditions', 'denied')]: '1+1x20' },
        after: '10m',
        fires: [
          {
            labels: { ...ROLLCALL, outcome: 'denied' },
            says: 'Taints or conditions of Nodes could not be written in rollcall: denied.',
          },
        ],
      },
      {
        name: 'long ago, and a label now',
        series: { [patches('taints', 'denied')]: '1+0x20', [patches('set', 'denied')]: '1+1x20' },
        after: '10m',
      },
    ],
  },
  {
    name: 'RollcallKeysRefused',
    expr: 'max by (namespace, cause) (rollcall_coordinator_skipped_keys{cause=~"denied|invalid"}) > 0',
    for: '10m',
    severity: 'warning',
    summary: 'The API server refuses keys of Nodes that rollcall writes',
    description: '{{ $value }} keys of Nodes in {{ $labels.namespace }} cannot be written: {{ $labels.cause }}.',
    cases: [
      {
        name: 'three keys that a policy refuses',
        series: { [skipped('denied')]: '3+0x20', [skipped('invalid')]: '0+0x20' },
        after: '12m',
        fires: [
          { labels: { ...ROLLCALL, cause: 'denied' }, says: '3 keys of Nodes in rollcall cannot be written: denied.' },
        ],
      },
      {
        name: 'keys of others',
        series: { [skipped('foreign')]: '3+0x20', [skipped('denied')]: '0+0x20' },
        after: '12m',
      },
    ],
  },
  {
    name: 'RollcallConflicts',
    expr: 'max by (namespace) (rollcall_coordinator_skipped_keys{cause="foreign"}) > 0',
    for: '10m',
    severity: 'warning',
    summary: 'Others own labels or annotations that rollcall should set',
    description:
      '{{ $value }} keys of Nodes in {{ $labels.namespace }} have another value, which rollcall does not change.',
    cases: [
      {
        name: 'a label that a person has set',
        series: { [skipped('foreign')]: '1+0x20' },
        after: '12m',
        fires: [
          { labels: ROLLCALL, says: '1 keys of Nodes in rollcall have another value, which rollcall does not change.' },
        ],
      },
      {
        name: 'gone after a moment, and another cause',
        series: { [skipped('foreign')]: '1 1 0+0x20', [skipped('invalid')]: '1+0x20' },
        after: '12m',
      },
    ],
  },
  {
    name: 'RollcallSlowToApply',
    threshold: { value: 5, help: 'Duration of the slowest percent, in seconds.' },
    expr: 'histogram_quantile(0.99, sum by (namespace, le) (rate(rollcall_coordinator_evidence_to_applied_seconds_bucket[10m]))) > 5',
    for: '10m',
    severity: 'warning',
    summary: 'Nodes are updated late',
    description:
      'One in a hundred changes of {{ $labels.namespace }} takes more than {{ $value | humanizeDuration }} to reach the Node.',
    cases: [
      {
        name: 'half a minute',
        series: {
          [applied('0.1')]: '0+50x40',
          [applied('10')]: '0+50x40',
          [applied('30')]: '0+100x40',
          [applied('+Inf')]: '0+100x40',
        },
        after: '30m',
        fires: [
          {
            labels: ROLLCALL,
            says: 'One in a hundred changes of rollcall takes more than 29.6s to reach the Node.',
          },
        ],
      },
      {
        name: 'a tenth of a second',
        series: {
          [applied('0.1')]: '0+100x40',
          [applied('30')]: '0+100x40',
          [applied('+Inf')]: '0+100x40',
        },
        after: '30m',
      },
    ],
  },
  {
    name: 'RollcallRuleProblems',
    expr: 'max by (namespace) (rollcall_coordinator_rule_problems) > 0',
    for: '5m',
    severity: 'warning',
    summary: 'Rule files contain errors',
    description: 'There are {{ $value }} errors in the files of --label-dir in {{ $labels.namespace }}.',
    cases: [
      {
        name: 'two lines',
        series: { 'rollcall_coordinator_rule_problems{namespace="rollcall",pod="coordinator-0"}': '2+0x10' },
        after: '6m',
        fires: [{ labels: ROLLCALL, says: 'There are 2 errors in the files of --label-dir in rollcall.' }],
      },
      {
        name: 'all is well',
        series: { 'rollcall_coordinator_rule_problems{namespace="rollcall",pod="coordinator-0"}': '0+0x10' },
        after: '6m',
      },
    ],
  },
  {
    name: 'RollcallPoolKeysRefused',
    expr: 'max by (namespace) (rollcall_coordinator_refused_pool_keys) > 0',
    for: '5m',
    severity: 'warning',
    summary: 'NodePoolLabels or NodePoolLabelSets request labels that they may not set',
    description: '{{ $value }} labels of pools are refused by {{ $labels.namespace }}.',
    cases: [
      {
        name: 'a reserved label',
        series: { 'rollcall_coordinator_refused_pool_keys{namespace="rollcall",pod="coordinator-0"}': '1+0x10' },
        after: '6m',
        fires: [{ labels: ROLLCALL, says: '1 labels of pools are refused by rollcall.' }],
      },
      {
        name: 'corrected at once',
        series: { 'rollcall_coordinator_refused_pool_keys{namespace="rollcall",pod="coordinator-0"}': '1 0+0x10' },
        after: '6m',
      },
    ],
  },
];
