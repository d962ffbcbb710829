import { type Row, rate } from '../panel.ts';

const LIES = rate('rollcall_coordinator_lie_seconds_total');

/** How true it is what Nodes say. */
export const LEDGER_ROWS: readonly Row[] = [
  {
    title: 'Truth',
    panels: [
      {
        title: 'Nodes that say what is not so',
        description: 'On average, by key. In a dry run it is about whoever writes the keys.',
        unit: 'short',
        queries: [{ expr: `sum by (key, direction) (${LIES})`, legend: '{{key}}, {{direction}}' }],
      },
      {
        title: 'Lie seconds a node a day',
        description: 'What a team can set an objective on.',
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
