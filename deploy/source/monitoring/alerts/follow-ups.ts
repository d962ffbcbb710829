import type { Alert } from '../alert.ts';

const ROLLCALL = { namespace: 'rollcall' };
const QUESTIONS = 'verb=~"filter|prioritize|preempt|predicates"';

function gates(outcome: string): string {
  return `rollcall_coordinator_startup_gates_opened_total{namespace="rollcall",pod="coordinator-0",outcome="${outcome}"}`;
}

function evictions(outcome: string): string {
  return `rollcall_coordinator_evictions_total{namespace="rollcall",pod="coordinator-0",outcome="${outcome}"}`;
}

function notifications(outcome: string): string {
  return `rollcall_coordinator_notifications_total{namespace="rollcall",pod="coordinator-0",notifier="0",outcome="${outcome}"}`;
}

function asked(verb: string, code: string): string {
  return `rollcall_coordinator_extender_requests_total{namespace="rollcall",pod="coordinator-0",verb="${verb}",code="${code}"}`;
}

function tookAtMost(verb: string, le: string): string {
  return `rollcall_coordinator_extender_duration_seconds_bucket{namespace="rollcall",pod="coordinator-0",verb="${verb}",le="${le}"}`;
}

/** What follows from labels: pods are let in or evicted, others are told, the scheduler is answered. */
export const FOLLOW_UP_ALERTS: readonly Alert[] = [
  {
    name: 'RollcallStartupGateExpired',
    expr: 'sum by (namespace) (increase(rollcall_coordinator_startup_gates_opened_total{outcome=~"expired|stays"}[1h])) > 0',
    severity: 'warning',
    summary: 'Nodes behind the startup taint were not ready in time',
    description:
      'Within an hour, {{ $value | humanize }} nodes of {{ $labels.namespace }} were not ready when the time of their startup gate was over.',
    cases: [
      {
        name: 'one node',
        series: { [gates('expired')]: '0x20 1+0x40', [gates('complete')]: '0+1x60' },
        after: '60m',
        fires: [
          {
            labels: ROLLCALL,
            says: 'Within an hour, 1 nodes of rollcall were not ready when the time of their startup gate was over.',
          },
        ],
      },
      {
        name: 'one that stays closed',
        series: { [gates('stays')]: '0x20 1+0x40' },
        after: '60m',
        fires: [
          {
            labels: ROLLCALL,
            says: 'Within an hour, 1 nodes of rollcall were not ready when the time of their startup gate was over.',
          },
        ],
      },
      { name: 'complete ones', series: { [gates('expired')]: '0x60', [gates('complete')]: '0+1x60' }, after: '60m' },
    ],
  },
  {
    name: 'RollcallEvictionsBlocked',
    expr:
      'sum by (namespace, outcome) (increase(rollcall_coordinator_evictions_total{outcome=~"blocked|failed"}[15m])) > 0\n' +
      'and on (namespace) max by (namespace) (rollcall_coordinator_evictions_pending) > 0',
    for: '15m',
    severity: 'warning',
    summary: 'Pods cannot be evicted from nodes that lost a label that they require',
    description: 'rollcall in {{ $labels.namespace }} cannot evict pods: {{ $labels.outcome }}.',
    cases: [
      {
        name: 'a disruption budget',
        series: {
          [evictions('blocked')]: '1+2x40',
          'rollcall_coordinator_evictions_pending{namespace="rollcall",pod="coordinator-0"}': '1+0x40',
        },
        after: '30m',
        fires: [
          {
            labels: { ...ROLLCALL, outcome: 'blocked' },
            says: 'rollcall in rollcall cannot evict pods: blocked.',
          },
        ],
      },
      {
        name: 'many, one after the other',
        series: {
          [evictions('evicted')]: '0+10x40',
          'rollcall_coordinator_evictions_pending{namespace="rollcall",pod="coordinator-0"}': '400-10x40',
        },
        after: '30m',
      },
      {
        name: 'blocked for a while',
        series: {
          [evictions('blocked')]: '1+2x10 21+0x30',
          [evictions('evicted')]: '0x10 1+0x30',
          'rollcall_coordinator_evictions_pending{namespace="rollcall",pod="coordinator-0"}': '1+0x10 0+0x30',
        },
        after: '30m',
      },
    ],
  },
  {
    name: 'RollcallNotificationsFailing',
    expr:
      'sum by (namespace, notifier) (increase(rollcall_coordinator_notifications_total{outcome="failed"}[15m])) > 0\n' +
      'and on (namespace, notifier) max by (namespace, notifier) (rollcall_coordinator_notifications_pending) > 0',
    for: '15m',
    severity: 'warning',
    summary: 'A receiver does not accept notifications',
    description:
      'The URL {{ $labels.notifier }} of --notify-url in {{ $labels.namespace }}, counted from 0, does not accept notifications.',
    cases: [
      {
        name: 'a receiver that is away',
        series: {
          [notifications('failed')]: '1+1x40',
          'rollcall_coordinator_notifications_pending{namespace="rollcall",pod="coordinator-0",notifier="0"}': '5+0x40',
        },
        after: '30m',
        fires: [
          {
            labels: { ...ROLLCALL, notifier: '0' },
            says: 'The URL 0 of --notify-url in rollcall, counted from 0, does not accept notifications.',
          },
        ],
      },
      {
        name: 'always something new',
        series: {
          [notifications('delivered')]: '0+10x40',
          'rollcall_coordinator_notifications_pending{namespace="rollcall",pod="coordinator-0",notifier="0"}': '1+0x40',
        },
        after: '30m',
      },
      {
        name: 'one failure, made up for',
        series: {
          [notifications('failed')]: '0 1+0x40',
          [notifications('delivered')]: '0+1x40',
          'rollcall_coordinator_notifications_pending{namespace="rollcall",pod="coordinator-0",notifier="0"}':
            '0 5 0+0x40',
        },
        after: '30m',
      },
    ],
  },
  {
    name: 'RollcallExtenderFailing',
    threshold: { value: 0.01, help: 'Share of requests that may fail.' },
    expr:
      `sum by (namespace, verb) (rate(rollcall_coordinator_extender_requests_total{${QUESTIONS},code!="200"}[5m]))\n` +
      `  / sum by (namespace, verb) (rate(rollcall_coordinator_extender_requests_total{${QUESTIONS}}[5m])) > 0.01`,
    for: '5m',
    severity: 'critical',
    summary: 'Requests of kube-scheduler fail',
    description:
      '{{ $value | humanizePercentage }} of the requests ({{ $labels.verb }}) of kube-scheduler to {{ $labels.namespace }} fail.',
    cases: [
      {
        name: 'there is no leader',
        series: { [asked('filter', '503')]: '0+6x30', [asked('status', '200')]: '0+60x30' },
        after: '15m',
        fires: [
          {
            labels: { ...ROLLCALL, verb: 'filter' },
            says: '100% of the requests (filter) of kube-scheduler to rollcall fail.',
          },
        ],
      },
      {
        name: 'nearly all are answered, and a stranger knocks',
        series: {
          [asked('filter', '200')]: '0+60x30',
          [asked('filter', '503')]: '0+0.3x30',
          [asked('other', '404')]: '0+60x30',
        },
        after: '15m',
      },
    ],
  },
  {
    name: 'RollcallExtenderSlow',
    threshold: { value: 0.25, help: 'Duration of the slowest percent, in seconds.' },
    expr:
      'histogram_quantile(0.99, sum by (namespace, verb, le)' +
      ` (rate(rollcall_coordinator_extender_duration_seconds_bucket{${QUESTIONS}}[5m]))) > 0.25`,
    for: '10m',
    severity: 'warning',
    summary: 'Requests of kube-scheduler are slow',
    description:
      'One in a hundred requests ({{ $labels.verb }}) to {{ $labels.namespace }} takes more than {{ $value | humanizeDuration }}.',
    cases: [
      {
        name: 'between a quarter and half of a second',
        series: {
          [tookAtMost('filter', '0.25')]: '0x30',
          [tookAtMost('filter', '0.5')]: '0+60x30',
          [tookAtMost('filter', '+Inf')]: '0+60x30',
        },
        after: '20m',
        fires: [
          {
            labels: { ...ROLLCALL, verb: 'filter' },
            says: 'One in a hundred requests (filter) to rollcall takes more than 497.5ms.',
          },
        ],
      },
      {
        name: 'milliseconds',
        series: {
          [tookAtMost('filter', '0.005')]: '0+60x30',
          [tookAtMost('filter', '2')]: '0+60x30',
          [tookAtMost('filter', '+Inf')]: '0+60x30',
          [tookAtMost('other', '1')]: '0x30',
          [tookAtMost('other', '2')]: '0+60x30',
          [tookAtMost('other', '+Inf')]: '0+60x30',
        },
        after: '20m',
      },
    ],
  },
];
