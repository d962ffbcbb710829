import type { Subject } from '@rollcall/common/guards.ts';
import type { Alert } from '../alert.ts';

const AGENT = '{namespace="rollcall",pod="agent-a",node="node-a"}';
const OF_AGENT = { namespace: 'rollcall', pod: 'agent-a', node: 'node-a' };
const ROLLCALL = { namespace: 'rollcall' };

function nodes(state: string): string {
  return `rollcall_coordinator_nodes{namespace="rollcall",pod="coordinator-0",state="${state}"}`;
}

function reports(result: string): string {
  return `rollcall_coordinator_reports_total{namespace="rollcall",pod="coordinator-0",result="${result}"}`;
}

function serviceNodes(service: string, state: string): string {
  return `rollcall_coordinator_service_nodes{namespace="rollcall",pod="coordinator-0",service="${service}",state="${state}"}`;
}

function inForce(service: string): string {
  return `rollcall_coordinator_service_in_force{namespace="rollcall",pod="coordinator-0",service="${service}"}`;
}

function guarded(subject: Subject, replica: number): string {
  return `rollcall_coordinator_guarded_nodes{namespace="rollcall",pod="coordinator-${replica}",subject="${subject}"}`;
}

function guardedBy(subjects: string): string {
  return `max by (namespace, subject) (rollcall_coordinator_guarded_nodes{subject=~"${subjects}"}) > 0`;
}

/** What concerns agents, and the way from them to the coordinator. */
export const AGENT_ALERTS: readonly Alert[] = [
  {
    name: 'RollcallAgentsMissing',
    threshold: { value: 0, help: 'Number of nodes that may be without an agent, such as those that are to have none.' },
    expr: 'sum by (namespace) (rollcall_coordinator_nodes{state="absent"}) > 0',
    for: '15m',
    severity: 'warning',
    summary: 'Nodes have no agent',
    description:
      '{{ $value }} nodes have no agent of {{ $labels.namespace }}; no service that an agent probes counts as ready there.',
    cases: [
      {
        name: 'two of two hundred nodes',
        series: { [nodes('fresh')]: '198+0x30', [nodes('absent')]: '2+0x30' },
        after: '20m',
        fires: [
          {
            labels: ROLLCALL,
            says: '2 nodes have no agent of rollcall; no service that an agent probes counts as ready there.',
          },
        ],
      },
      {
        name: 'a new node for ten minutes',
        series: {
          [nodes('fresh')]: '999+0x30',
          [nodes('absent')]: '0+0x30',
          'rollcall_coordinator_nodes{namespace="staging",pod="coordinator-0",state="absent"}': '1+0x10 0+0x20',
        },
        after: '20m',
      },
    ],
  },
  {
    name: 'RollcallAgentsSilent',
    threshold: { value: 0, help: 'Number of nodes whose agents may be silent.' },
    expr: 'sum by (namespace) (rollcall_coordinator_nodes{state="silent"}) > 0',
    for: '5m',
    severity: 'warning',
    summary: 'Agents have stopped reporting',
    description: 'The agents of {{ $value }} nodes of {{ $labels.namespace }} have stopped reporting.',
    cases: [
      {
        name: 'two of two hundred nodes',
        series: { [nodes('fresh')]: '198+0x30', [nodes('silent')]: '2+0x30' },
        after: '6m',
        fires: [{ labels: ROLLCALL, says: 'The agents of 2 nodes of rollcall have stopped reporting.' }],
      },
      {
        name: 'all are heard',
        series: { [nodes('fresh')]: '3+0x30', [nodes('silent')]: '0+0x30', [nodes('leaving')]: '1+0x30' },
        after: '6m',
      },
    ],
  },
  {
    name: 'RollcallGuardActive',
    expr: guardedBy('agents|reporters|target'),
    for: '1m',
    severity: 'critical',
    summary: 'Most agents, reporters of a condition, or checks of a shared target fail at once',
    description:
      'A guard is active in {{ $labels.namespace }} (subject {{ $labels.subject }}): {{ $value }} nodes keep their labels, which may be wrong.',
    cases: [
      {
        name: 'the guard of the fleet',
        series: { [guarded('agents', 0)]: '0 3+0x10', [guarded('agents', 1)]: '0+0x10' },
        after: '3m',
        fires: [
          {
            labels: { ...ROLLCALL, subject: 'agents' },
            says: 'A guard is active in rollcall (subject agents): 3 nodes keep their labels, which may be wrong.',
          },
        ],
      },
      {
        name: 'no DNS',
        series: { [guarded('target', 0)]: '0 7+0x10' },
        after: '3m',
        fires: [
          {
            labels: { ...ROLLCALL, subject: 'target' },
            says: 'A guard is active in rollcall (subject target): 7 nodes keep their labels, which may be wrong.',
          },
        ],
      },
      { name: 'a guard that only delays', series: { [guarded('configuration', 0)]: '3+0x10' }, after: '3m' },
    ],
  },
  {
    name: 'RollcallGuardDelays',
    expr: guardedBy('agent-version|configuration|taint-budget'),
    for: '1m',
    severity: 'warning',
    summary: 'A guard delays what would happen to many nodes',
    description:
      'A guard is active in {{ $labels.namespace }} (subject {{ $labels.subject }}): {{ $value }} nodes wait for a label to go, or for a taint.',
    cases: [
      {
        name: 'a service that fails on many nodes',
        series: { [guarded('taint-budget', 0)]: '0 30+0x10' },
        after: '3m',
        fires: [
          {
            labels: { ...ROLLCALL, subject: 'taint-budget' },
            says: 'A guard is active in rollcall (subject taint-budget): 30 nodes wait for a label to go, or for a taint.',
          },
        ],
      },
      { name: 'no guard', series: { [guarded('configuration', 0)]: '0+0x10' }, after: '3m' },
    ],
  },
  {
    name: 'RollcallAgentCannotReport',
    expr: 'rollcall_agent_coordinator_connected == 0',
    for: '5m',
    severity: 'warning',
    summary: 'An agent cannot deliver its reports',
    description: '{{ $labels.pod }} on node {{ $labels.node }} finds no coordinator that accepts its reports.',
    cases: [
      {
        name: 'one is cut off',
        series: {
          [`rollcall_agent_coordinator_connected${AGENT}`]: '1 0+0x10',
          'rollcall_agent_coordinator_connected{namespace="rollcall",pod="agent-b",node="node-b"}': '1+0x10',
        },
        after: '7m',
        fires: [{ labels: OF_AGENT, says: 'agent-a on node node-a finds no coordinator that accepts its reports.' }],
      },
      {
        name: 'a failover',
        series: { [`rollcall_agent_coordinator_connected${AGENT}`]: '1 0 1+0x10' },
        after: '7m',
      },
    ],
  },
  {
    name: 'RollcallReportsRejected',
    expr:
      'sum by (namespace, result) (rate(rollcall_coordinator_reports_total{result=~"[45].."}[5m]))\n' +
      '  / on (namespace) group_left sum by (namespace) (rate(rollcall_coordinator_reports_total[5m])) > 0.01',
    for: '10m',
    severity: 'warning',
    summary: 'The coordinator refuses reports',
    description:
      '{{ $value | humanizePercentage }} of the reports in {{ $labels.namespace }} are refused with status {{ $labels.result }}.',
    cases: [
      {
        name: 'tokens that are not known',
        series: { [reports('heartbeat')]: '0+540x30', [reports('401')]: '0+60x30' },
        after: '20m',
        fires: [
          {
            labels: { ...ROLLCALL, result: '401' },
            says: '10% of the reports in rollcall are refused with status 401.',
          },
        ],
      },
      {
        name: 'heartbeats, redirects, and a refusal now and then',
        series: { [reports('heartbeat')]: '0+600x30', [reports('redirected')]: '0+60x30', [reports('503')]: '0+1x30' },
        after: '20m',
      },
    ],
  },
  {
    name: 'RollcallCollectorFailing',
    expr: 'rollcall_agent_collector_success == 0',
    for: '10m',
    severity: 'warning',
    summary: 'An agent cannot read the hardware of its node',
    description: 'The collector {{ $labels.collector }} of {{ $labels.pod }} fails on node {{ $labels.node }}.',
    cases: [
      {
        name: 'a bus that cannot be read',
        series: {
          'rollcall_agent_collector_success{namespace="rollcall",pod="agent-a",node="node-a",collector="usb"}':
            '0+0x20',
          'rollcall_agent_collector_success{namespace="rollcall",pod="agent-a",node="node-a",collector="pci"}':
            '1+0x20',
        },
        after: '12m',
        fires: [
          { labels: { ...OF_AGENT, collector: 'usb' }, says: 'The collector usb of agent-a fails on node node-a.' },
        ],
      },
      {
        name: 'a machine without that bus',
        series: {
          'rollcall_agent_collector_success{namespace="rollcall",pod="agent-a",node="node-a",collector="usb"}':
            '1+0x20',
          'rollcall_agent_collector_available{namespace="rollcall",pod="agent-a",node="node-a",collector="usb"}':
            '0+0x20',
        },
        after: '12m',
      },
    ],
  },
  {
    name: 'RollcallServicesHeldBack',
    expr: 'max by (namespace) (max_over_time(rollcall_coordinator_held_back_services[5m])) > 0',
    for: '10m',
    severity: 'warning',
    summary: 'Services become not ready so often that they are held back',
    description:
      '{{ $value }} services of nodes in {{ $labels.namespace }} are held back, since they became not ready too often.',
    cases: [
      {
        name: 'a service that crashes every few minutes',
        series: {
          'rollcall_coordinator_held_back_services{namespace="rollcall",pod="coordinator-0"}':
            '1 0 0 1 1 0 0 1 1 1 0 0 0 1 1 1 1',
        },
        after: '14m',
        fires: [
          {
            labels: ROLLCALL,
            says: '1 services of nodes in rollcall are held back, since they became not ready too often.',
          },
        ],
      },
      {
        name: 'a bad start',
        series: { 'rollcall_coordinator_held_back_services{namespace="rollcall",pod="coordinator-0"}': '1 1 0+0x20' },
        after: '14m',
      },
    ],
  },
  {
    name: 'RollcallServiceNotReady',
    threshold: { value: 0, help: 'Number of nodes on which a service may be not ready.' },
    expr: 'max by (namespace, service) (rollcall_coordinator_service_nodes{state="not-ready",dry_run!="true"}) > 0',
    for: '15m',
    severity: 'warning',
    summary: 'A service is not ready on some of its nodes',
    description: '{{ $labels.service }} is not ready on {{ $value }} nodes of {{ $labels.namespace }}.',
    cases: [
      {
        name: 'two of two hundred nodes, and one of a thousand',
        series: {
          [serviceNodes('mirror', 'ready')]: '198+0x30',
          [serviceNodes('mirror', 'not-ready')]: '2+0x30',
          [serviceNodes('csi', 'ready')]: '999+0x30',
          [serviceNodes('csi', 'not-ready')]: '1+0x30',
        },
        after: '20m',
        fires: [
          { labels: { ...ROLLCALL, service: 'csi' }, says: 'csi is not ready on 1 nodes of rollcall.' },
          { labels: { ...ROLLCALL, service: 'mirror' }, says: 'mirror is not ready on 2 nodes of rollcall.' },
        ],
      },
      {
        name: 'a dry run',
        series: {
          [serviceNodes('dry', 'ready')]: '1+0x30',
          [serviceNodes('dry', 'not-ready').replace('}', ',dry_run="true"}')]: '1+0x30',
        },
        after: '20m',
      },
      {
        name: 'nodes that start, and an agent that is silent',
        series: {
          [serviceNodes('starts', 'ready')]: '2+0x30',
          [serviceNodes('starts', 'not-ready')]: '1+0x10 0+0x20',
          [serviceNodes('silent', 'ready')]: '2+0x30',
          [serviceNodes('silent', 'not-ready')]: '0+0x30',
          [serviceNodes('silent', 'unknown')]: '1+0x30',
        },
        after: '20m',
      },
    ],
  },
  {
    name: 'RollcallServiceDown',
    threshold: { value: 0.5, help: 'Share of the nodes of a service on which it may be not ready.' },
    expr:
      'max by (namespace, service) (rollcall_coordinator_service_nodes{state="not-ready",dry_run!="true"})\n' +
      '  > 0.5 * sum by (namespace, service) (rollcall_coordinator_service_nodes)',
    for: '5m',
    severity: 'critical',
    summary: 'A service is not ready on most of its nodes',
    description:
      '{{ $labels.service }} is not ready on {{ $value }} nodes of {{ $labels.namespace }}, which are most of its nodes.',
    cases: [
      {
        name: 'two of three nodes',
        series: { [serviceNodes('csi', 'ready')]: '1+0x30', [serviceNodes('csi', 'not-ready')]: '2+0x30' },
        after: '6m',
        fires: [
          {
            labels: { ...ROLLCALL, service: 'csi' },
            says: 'csi is not ready on 2 nodes of rollcall, which are most of its nodes.',
          },
        ],
      },
      {
        name: 'one of two nodes, and most for a while',
        series: {
          [serviceNodes('half', 'ready')]: '1+0x30',
          [serviceNodes('half', 'not-ready')]: '1+0x30',
          [serviceNodes('starts', 'ready')]: '0 0 0 3+0x20',
          [serviceNodes('starts', 'not-ready')]: '3 3 3 0+0x20',
        },
        after: '6m',
      },
    ],
  },
  {
    name: 'RollcallServiceNotInForce',
    expr: 'max by (namespace, service) (rollcall_coordinator_service_in_force{dry_run!="true"}) == 0',
    for: '5m',
    severity: 'warning',
    summary: 'A NodeService is not in force',
    description:
      'The NodeService {{ $labels.service }} is not in force: it publishes nothing, or its pods cannot be watched.',
    cases: [
      {
        name: 'one is refused',
        series: { [inForce('wrong')]: '0+0x10', [inForce('right')]: '1+0x10' },
        after: '6m',
        fires: [
          {
            labels: { ...ROLLCALL, service: 'wrong' },
            says: 'The NodeService wrong is not in force: it publishes nothing, or its pods cannot be watched.',
          },
        ],
      },
      { name: 'one that is mended soon', series: { [inForce('mended')]: '0 0 1+0x10' }, after: '6m' },
    ],
  },
];
