import { type Row, rate } from '../panel.ts';

/** Of what has never happened there is no series. */
const orNone = (expr: string) => `(${expr} or vector(0))`;

const NONE = { as: 'answer', well: { below: 1 } } as const;

/** What somebody wants to know who was woken up. */
export const ANSWER_ROWS: readonly Row[] = [
  {
    title: 'Are we fine?',
    panels: [
      {
        title: 'Leaders',
        description: 'One has to lead in each installation that is chosen.',
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
        title: 'Nodes that are not heard',
        description: 'Their agent is silent or absent.',
        unit: 'short',
        queries: [{ expr: 'sum(rollcall_coordinator_nodes{state=~"silent|absent"})', legend: '' }],
        shown: NONE,
      },
      {
        title: 'Services that are not ready',
        description: 'As the agents find them, each on its node.',
        unit: 'short',
        queries: [{ expr: 'sum(1 - rollcall_agent_service_ready)', legend: '' }],
        shown: NONE,
      },
      {
        title: 'Nodes that say ready and are not',
        description: 'A label, a taint or a condition that contradicts what is known.',
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
        title: 'Writes that fail',
        description: 'Of all writes to Nodes.',
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
        title: 'Guards',
        description: 'So many agents are silent, or see so much less, that nothing is withdrawn for it.',
        unit: 'short',
        queries: [{ expr: 'max(rollcall_coordinator_guard_active)', legend: '' }],
        shown: NONE,
      },
    ],
  },
  {
    title: 'What is not ready',
    panels: [
      {
        title: 'Not ready now',
        description:
          'Services by their node, as its agent finds them. kubectl rollcall why node/NAME gives the reason.',
        unit: 'short',
        queries: [{ expr: 'rollcall_agent_service_ready == 0', legend: '' }],
        shown: { as: 'table', columns: { cluster: 'Cluster', node: 'Node', service: 'Service', pod: 'Agent' } },
      },
      {
        title: 'Agents that cannot report now',
        description: 'Their nodes lose readiness after 30 s, unless a guard is active.',
        unit: 'short',
        queries: [{ expr: 'rollcall_agent_coordinator_connected == 0', legend: '' }],
        shown: { as: 'table', columns: { cluster: 'Cluster', node: 'Node', pod: 'Agent' } },
      },
    ],
  },
];
