import type { Alert } from '../alert.ts';

const REPLICA_0 = '{namespace="rollcall",pod="coordinator-0",job="coordinator",instance="10.0.0.1:8086"}';
const REPLICA_1 = '{namespace="rollcall",pod="coordinator-1",job="coordinator",instance="10.0.0.2:8086"}';
const OF_REPLICA_0 = { namespace: 'rollcall', pod: 'coordinator-0', job: 'coordinator', instance: '10.0.0.1:8086' };
const LEAF_OF_0 = REPLICA_0.replace('}', ',certificate="leaf"}');
const CA_OF_0 = REPLICA_0.replace('}', ',certificate="ca"}');
const DAY = 86_400;

/** What concerns the coordinator as such: whether it is there, who leads, and whether its surroundings let it. */
export const LEADER_ALERTS: readonly Alert[] = [
  {
    name: 'RollcallNotScraped',
    expr:
      'label_replace(absent(rollcall_coordinator_build_info), "program", "coordinator", "", "")\n' +
      'or label_replace(absent(rollcall_agent_build_info) unless on () rollcall_coordinator_nodes{state="none"}, "program", "agent", "", "")',
    for: '5m',
    severity: 'critical',
    summary: 'Prometheus gets no metrics of a program of rollcall',
    description: 'There are no metrics of any {{ $labels.program }}: it does not run, or is not scraped.',
    cases: [
      {
        name: 'agents without a coordinator',
        series: { rollcall_agent_build_info: '1+0x10' },
        after: '6m',
        fires: [
          {
            labels: { program: 'coordinator' },
            says: 'There are no metrics of any coordinator: it does not run, or is not scraped.',
          },
        ],
      },
      {
        name: 'a coordinator without agents',
        series: { [`rollcall_coordinator_build_info${REPLICA_0}`]: '1+0x10' },
        after: '6m',
        fires: [
          {
            labels: { program: 'agent' },
            says: 'There are no metrics of any agent: it does not run, or is not scraped.',
          },
        ],
      },
      {
        name: 'agents are switched off',
        series: {
          [`rollcall_coordinator_build_info${REPLICA_0}`]: '1+0x10',
          [`rollcall_coordinator_nodes${REPLICA_0.replace('}', ',state="none"}')}`]: '2+0x10',
        },
        after: '6m',
      },
      {
        name: 'both are there',
        series: { rollcall_agent_build_info: '1+0x10', [`rollcall_coordinator_build_info${REPLICA_0}`]: '1+0x10' },
        after: '6m',
      },
    ],
  },
  {
    name: 'RollcallNoLeader',
    expr: 'max by (namespace) (rollcall_coordinator_leader) == 0',
    for: '1m',
    severity: 'critical',
    summary: 'No coordinator leads',
    description: 'No coordinator in {{ $labels.namespace }} leads: no replica accepts reports or writes to Nodes.',
    cases: [
      {
        name: 'two standbys',
        series: {
          [`rollcall_coordinator_leader${REPLICA_0}`]: '1 0+0x10',
          [`rollcall_coordinator_leader${REPLICA_1}`]: '0+0x12',
        },
        after: '4m',
        fires: [
          {
            labels: { namespace: 'rollcall' },
            says: 'No coordinator in rollcall leads: no replica accepts reports or writes to Nodes.',
          },
        ],
      },
      {
        name: 'the other took over',
        series: {
          [`rollcall_coordinator_leader${REPLICA_0}`]: '1 1 0+0x10',
          [`rollcall_coordinator_leader${REPLICA_1}`]: '0 0 1+0x10',
        },
        after: '6m',
      },
    ],
  },
  {
    name: 'RollcallTwoLeaders',
    expr: 'sum by (namespace) (rollcall_coordinator_leader) > 1',
    for: '1m',
    severity: 'critical',
    summary: 'Several coordinators lead at once',
    description: '{{ $value }} coordinators in {{ $labels.namespace }} report that they lead.',
    cases: [
      {
        name: 'both lead',
        series: {
          [`rollcall_coordinator_leader${REPLICA_0}`]: '1+0x10',
          [`rollcall_coordinator_leader${REPLICA_1}`]: '0 1+0x10',
        },
        after: '3m',
        fires: [{ labels: { namespace: 'rollcall' }, says: '2 coordinators in rollcall report that they lead.' }],
      },
      {
        name: 'one each of two installations',
        series: {
          [`rollcall_coordinator_leader${REPLICA_0}`]: '1+0x10',
          'rollcall_coordinator_leader{namespace="staging",pod="coordinator-0"}': '1+0x10',
        },
        after: '5m',
      },
    ],
  },
  {
    name: 'RollcallLeaderFlapping',
    threshold: { value: 4, help: 'Changes of the leader within an hour.' },
    expr: 'max by (namespace) (increase(rollcall_coordinator_leader_transitions_total[1h])) > 4',
    severity: 'warning',
    summary: 'The leader changes often',
    description: 'The leader in {{ $labels.namespace }} changed {{ $value | humanize }} times within an hour.',
    cases: [
      {
        name: 'a change every five minutes',
        series: { [`rollcall_coordinator_leader_transitions_total${REPLICA_0}`]: '0+0.2x60' },
        after: '60m',
        fires: [{ labels: { namespace: 'rollcall' }, says: 'The leader in rollcall changed 12 times within an hour.' }],
      },
      {
        name: 'a rolling update',
        series: { [`rollcall_coordinator_leader_transitions_total${REPLICA_0}`]: '0x30 1 2+0x30' },
        after: '60m',
      },
    ],
  },
  {
    name: 'RollcallRestarting',
    threshold: { value: 2, help: 'Restarts of a program within half an hour.' },
    expr:
      'changes(process_start_time_seconds[30m]) > 2\n' +
      'and on (job, instance) {__name__=~"rollcall_(agent|coordinator)_build_info"}',
    severity: 'warning',
    summary: 'A program of rollcall restarts often',
    description: '{{ $labels.pod }} on {{ $labels.instance }} was restarted {{ $value }} times within half an hour.',
    cases: [
      {
        name: 'a coordinator that is killed every five minutes',
        series: {
          [`process_start_time_seconds${REPLICA_0}`]: '1 1 1 1 1 300 300 300 300 300 600 600 600 600 600 900+0x20',
          [`rollcall_coordinator_build_info${REPLICA_0}`]: '1+0x40',
        },
        after: '20m',
        fires: [
          {
            labels: OF_REPLICA_0,
            says: 'coordinator-0 on 10.0.0.1:8086 was restarted 3 times within half an hour.',
          },
        ],
      },
      {
        name: 'another program, and one restart',
        series: {
          'process_start_time_seconds{job="other",instance="10.0.0.9:80"}': '0+60x40',
          [`process_start_time_seconds${REPLICA_0}`]: '1 1 1 1 1 300+0x40',
          [`rollcall_coordinator_build_info${REPLICA_0}`]: '1+0x40',
        },
        after: '20m',
      },
    ],
  },
  {
    name: 'RollcallCertificateExpiring',
    threshold: { value: 14, help: 'Days until a certificate expires.' },
    expr: `rollcall_coordinator_certificate_expiry_timestamp_seconds - time() < 14 * ${DAY}`,
    for: '1h',
    severity: 'warning',
    summary: 'A certificate of the coordinator expires soon and was not renewed',
    description:
      'The certificate "{{ $labels.certificate }}" of {{ $labels.pod }} expires in {{ $value | humanizeDuration }}.',
    cases: [
      {
        name: 'three days left',
        series: {
          [`rollcall_coordinator_certificate_expiry_timestamp_seconds${LEAF_OF_0}`]: `${3 * DAY + 7200}+0x130`,
          [`rollcall_coordinator_certificate_expiry_timestamp_seconds${CA_OF_0}`]: `${3000 * DAY}+0x130`,
        },
        after: '2h',
        fires: [
          {
            labels: { ...OF_REPLICA_0, certificate: 'leaf' },
            says: 'The certificate "leaf" of coordinator-0 expires in 3d 0h 0m 0s.',
          },
        ],
      },
      {
        name: 'renewed in time',
        series: { [`rollcall_coordinator_certificate_expiry_timestamp_seconds${LEAF_OF_0}`]: `${30 * DAY}+0x130` },
        after: '2h',
      },
    ],
  },
  {
    name: 'RollcallApiServerErrors',
    threshold: { value: 0.05, help: 'Share of requests to the API server that may fail.' },
    expr:
      'sum by (namespace) (rate(rollcall_coordinator_kube_requests_total{code=~"5..|401|403|error"}[5m]))\n' +
      '  / sum by (namespace) (rate(rollcall_coordinator_kube_requests_total[5m])) > 0.05',
    for: '10m',
    severity: 'warning',
    summary: 'The API server refuses or does not answer requests of the coordinator',
    description: '{{ $value | humanizePercentage }} of the requests of {{ $labels.namespace }} to the API server fail.',
    cases: [
      {
        name: 'every other request is forbidden',
        series: {
          'rollcall_coordinator_kube_requests_total{namespace="rollcall",verb="get",code="200"}': '0+60x30',
          'rollcall_coordinator_kube_requests_total{namespace="rollcall",verb="patch",code="403"}': '0+60x30',
        },
        after: '20m',
        fires: [{ labels: { namespace: 'rollcall' }, says: '50% of the requests of rollcall to the API server fail.' }],
      },
      {
        name: 'conflicts are part of the work',
        series: {
          'rollcall_coordinator_kube_requests_total{namespace="rollcall",verb="get",code="200"}': '0+60x30',
          'rollcall_coordinator_kube_requests_total{namespace="rollcall",verb="patch",code="409"}': '0+60x30',
          'rollcall_coordinator_kube_requests_total{namespace="rollcall",verb="watch",code="error"}': '0+1x30',
        },
        after: '20m',
      },
    ],
  },
];
