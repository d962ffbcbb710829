import type { NodeSummary } from '@rollcall/common/console.ts';
import { AGENT_WORDS } from '@rollcall/common/console-words.ts';
import { STATES, type State } from '../model/node-state.ts';
import { Foreign, NodeLink, StateBadge } from './parts.tsx';
import { type Column, VirtualTable } from './virtual-table.tsx';

const byName = new Intl.Collator('en', { numeric: true }).compare;

/** Nodes as a table, the worst first. */
export function NodeTable(props: {
  caption: string;
  nodes: readonly NodeSummary[];
  stateOf: (node: NodeSummary) => State;
  linesMax?: number;
}) {
  const { caption, nodes, stateOf, ...rest } = props;
  const rank = (node: NodeSummary) => STATES.indexOf(stateOf(node));
  const rows = nodes.toSorted((a, b) => rank(a) - rank(b) || byName(a.name, b.name));
  const columns: Column<NodeSummary>[] = [
    { title: 'Node', width: '24%', cell: ({ name }) => <NodeLink name={name} /> },
    { title: 'State', width: '8.5rem', cell: (node) => <StateBadge state={stateOf(node)} /> },
    { title: 'Pool', width: '11%', cell: ({ pool }) => <Foreign text={pool ?? '–'} /> },
    { title: 'Services', width: 'auto', isSentence: true, cell: (node) => <Foreign text={troubleOf(node)} /> },
    { title: 'Agent', width: '19%', isSentence: true, cell: (node) => <Foreign text={agentOf(node)} /> },
  ];
  return <VirtualTable caption={caption} columns={columns} rows={rows} keyOf={({ name }) => name} {...rest} />;
}

function troubleOf({ services, heldBack, contested, skipped }: NodeSummary): string {
  const down = new Map<string, string[]>();
  for (const [name, state] of Object.entries(services)) {
    if (state === 'ready') continue;
    const words = heldBack.includes(name) ? 'held back' : state.replace('-', ' ');
    down.set(words, [...(down.get(words) ?? []), name]);
  }
  const keys = [
    ...contested.map((key) => `${key} is contested`),
    ...skipped.map((key) => `${key} is left to another owner`),
  ];
  return [...[...down].map(([words, names]) => `${words}: ${names.join(', ')}`), ...keys].join('; ') || 'all ready';
}

function agentOf({ agent, guard, agentVersion }: NodeSummary): string {
  const version = agentVersion === undefined ? '' : ` (${agentVersion})`;
  return `${AGENT_WORDS[agent]}${version}${guard === undefined ? '' : `, guard over ${guard}`}`;
}
