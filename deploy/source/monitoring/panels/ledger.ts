import { type Row, rate } from '../panel.ts';

const LIES = rate('rollcall_coordinator_lie_seconds_total');

/** How true it is what Nodes say. */
export const LEDGER_ROWS: readonly Row[] = [
  {
    title: 'Truth',
    panels: [
      {
        title: 'Nodes that contradict the evidence',
        description: 'Average number by key and direction. In a dry run, other programs write the keys.',
        unit: 'short',
        queries: [{ expr: `sum by (key, direction) (${LIES})`, legend: '{{key}}, {{direction}}' }],
      },
      {
        title: 'Lie seconds per node and day',
        description: 'Time for which a node contradicts the evidence; a base for a service level objective.',
        unit: 's',
        queries: [
          {
            expr: `86400 * sum by (direction) (${LIES}) / scalar(sum(rollcall_coordinator_nodes))`,
            legend: '{{direction}}',
          },
        ],
      },
    ],
  },
];
