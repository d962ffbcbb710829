import { type Row, rate } from '../panel.ts';

/** Defaults to 0: an event that has never happened has no series. */
const orNone = (expr: string) => `(${expr} or vector(0))`;

const NONE = { as: 'answer', well: { below: 1 } } as const;

/** What an operator wants to know who was woken up. */
export const ANSWER_ROWS: readonly Row[] = [
  {
    title: 'Health',
    panels: [
      {
        title: 'Leaders',
        description: 'Leaders per selected installation; must be 1.',
        unit: 'short',
        queries: [
          {
            expr: 'sum(rollcall_coordinator_leader) / count(count by (cluster, namespace) (rollcall_coordinator_leader))',
            legend: '',
          },
        ],
        shown: { as: 'answer', well: { is: 1 } },
      },
      {
        title: 'Nodes without reports',
        description: 'The agent is silent or absent.',
        unit: 'short',
        queries: [{ expr: 'sum(rollcall_coordinator_nodes{state=~"silent|absent"})', legend: '' }],
        shown: NONE,
      },
      {
        title: 'Services not ready',
        description: 'Services on nodes that are not ready according to the coordinator, by all of their checks.',
        unit: 'short',
        queries: [{ expr: orNone('sum(rollcall_coordinator_service_nodes{state="not-ready"})'), legend: '' }],
        shown: NONE,
      },
      {
        title: 'Nodes wrongly shown as ready',
        description: 'A label, taint or condition shows a service as ready, but the evidence contradicts it.',
        unit: 'short',
        queries: [
          {
            expr: orNone(`sum(${rate('rollcall_coordinator_lie_seconds_total{direction="said-ready"}')})`),
            legend: '',
          },
        ],
        shown: { as: 'answer', well: { below: 0.01 } },
      },
      {
        title: 'Failed writes',
        description: 'Share of all writes to Nodes.',
        unit: 'percentunit',
        queries: [
          {
            expr:
              orNone(`sum(${rate('rollcall_coordinator_patches_total{outcome=~"failed|throttled"}')})`) +
              ` / clamp_min(sum(${rate('rollcall_coordinator_patches_total')}), 0.001)`,
            legend: '',
          },
        ],
        shown: { as: 'answer', well: { below: 0.01 } },
      },
      {
        title: 'Active guards',
        description: 'Nodes from which a guard keeps something.',
        unit: 'short',
        queries: [{ expr: 'max(rollcall_coordinator_guarded_nodes)', legend: '' }],
        shown: NONE,
      },
    ],
  },
  {
    title: 'Not ready',
    panels: [
      {
        title: 'Services not ready now',
        description: 'By all of their checks. For the reason, with a node: kubectl rollcall why nodeservice/NAME.',
        unit: 'short',
        queries: [{ expr: 'rollcall_coordinator_service_nodes{state="not-ready"} > 0', legend: '' }],
        shown: { as: 'table', columns: { cluster: 'Cluster', service: 'Service', Value: 'Nodes' } },
      },
      {
        title: 'Probes that fail now',
        description: 'According to the agents, by node. For the reason: kubectl rollcall why node/NAME.',
        unit: 'short',
        queries: [{ expr: 'rollcall_agent_service_ready == 0', legend: '' }],
        shown: { as: 'table', columns: { cluster: 'Cluster', node: 'Node', service: 'Service', pod: 'Agent' } },
      },
      {
        title: 'Agents that cannot report now',
        description: 'Their nodes lose their readiness labels after 30 s, unless a guard is active.',
        unit: 'short',
        queries: [{ expr: 'rollcall_agent_coordinator_connected == 0', legend: '' }],
        shown: { as: 'table', columns: { cluster: 'Cluster', node: 'Node', pod: 'Agent' } },
      },
    ],
  },
];
