import type { Alert } from '../alert.ts';

const READY = 'gitpod.io/ws-daemon_ready_ns_default';

function lies(key: string, direction: string): string {
  return `rollcall_coordinator_lie_seconds_total{namespace="rollcall",pod="coordinator-0",key="${key}",direction="${direction}"}`;
}

/** Compares what Nodes say with what is seen. The rate of the counter is the number of nodes that deviate. */
export const LEDGER_ALERTS: readonly Alert[] = [
  {
    name: 'RollcallNodesLie',
    threshold: { value: 0.5, help: 'Number of nodes with a wrong key at the same time.' },
    expr: 'sum by (namespace, key) (rate(rollcall_coordinator_lie_seconds_total{direction="said-ready"}[10m])) > 0.5',
    for: '5m',
    severity: 'warning',
    summary: 'Nodes show a service as ready that is not',
    description: '{{ $value | printf "%.1f" }} nodes in {{ $labels.namespace }} show {{ $labels.key }} wrongly.',
    cases: [
      {
        name: 'two nodes, for a quarter of an hour',
        series: { [lies(READY, 'said-ready')]: '0+120x30', [lies(READY, 'said-not-ready')]: '0+0x30' },
        after: '20m',
        fires: [
          {
            labels: { namespace: 'rollcall', key: READY },
            says: `2.0 nodes in rollcall show ${READY} wrongly.`,
          },
        ],
      },
      {
        name: 'a moment now and then, and the other way round',
        series: { [lies(READY, 'said-ready')]: '0+2x30', [lies(READY, 'said-not-ready')]: '0+120x30' },
        after: '20m',
      },
    ],
  },
];
