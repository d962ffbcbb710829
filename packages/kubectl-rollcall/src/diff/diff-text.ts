import type { DiffDocument } from '@rollcall/common/console.ts';
import { count, grouped, listed } from '../text/count.ts';
import { Page, type Terminal } from '../text/page.ts';
import type { Column } from '../text/table.ts';

const PODS_SHOWN = 20;

type Row = { change: string; key: string; nodes: string[]; reason: string };

const ROWS: readonly Column<Row>[] = [
  { title: 'CHANGE', cell: ({ change }) => change, gives: true },
  { title: 'KEY', cell: ({ key }) => key, gives: true },
  { title: 'NODES', cell: ({ nodes }) => grouped(nodes.length), isNumber: true },
  { title: 'EXAMPLE', cell: ({ nodes }) => nodes[0] ?? '', gives: true },
  { title: 'REASON', cell: ({ reason }) => reason, gives: true },
];

/** What would become of the fleet: the answer, what is wrong with what was proposed, and each change once. */
export function diffText(document: DiffDocument, terminal: Terminal): string {
  const { looked, problems, notes, evicts, nodes } = document;
  const page = new Page(terminal);
  const evicted = nodes.flatMap((node) => node.evicted.map((each) => ({ ...each, node: node.name })));
  const pods = evicted.length > 0 ? `, and ${count(evicted.length, 'pod')} would be evicted` : '';
  page.line(
    nodes.length === 0
      ? `Nothing would change on ${count(looked, 'node')}.`
      : `${grouped(nodes.length)} of ${count(looked, 'node')} would be changed${pods}.`,
    { tone: problems.length > 0 ? 'bad' : nodes.length === 0 ? 'good' : 'doubtful' },
  );
  for (const problem of problems)
    page.field('fail', problem, { tone: 'bad', width: 6 }).cure('correct it, and run diff again', 6);
  for (const note of notes) page.field('note', note, { tone: 'doubtful', width: 6 });
  const rows = rowsOf(document);
  if (rows.length > 0) page.line().table(rows, ROWS);
  if (evicted.length > 0) {
    page.line().table(evicted.slice(0, PODS_SHOWN), [
      { title: 'EVICTED POD', cell: ({ pod }) => pod, gives: true },
      { title: 'NODE', cell: ({ node }) => node, gives: true },
      { title: 'REQUIRES', cell: ({ misses }) => listed(misses), gives: true },
    ]);
    if (evicted.length > PODS_SHOWN)
      page.line(`… and ${grouped(evicted.length - PODS_SHOWN)} more; -o json prints all.`, { tone: 'quiet' });
  } else if (!evicts && rows.some(({ change }) => change.startsWith('-'))) {
    page.line().line('No pod would be evicted: --evict is off.', { tone: 'quiet' });
  }
  return page.text;
}

/** Groups equal changes, with the changes of most nodes first. */
function rowsOf({ nodes }: DiffDocument): Row[] {
  const rows = new Map<string, Row>();
  for (const { name, changes } of nodes) {
    for (const { kind, key, from, to, reason } of changes) {
      const change = changeOf(from, to);
      const id = `${change} ${kind} ${key}`;
      const row = rows.get(id) ?? { change, key: kind === 'label' ? key : `${key} (${kind})`, nodes: [], reason };
      rows.set(id, row);
      row.nodes.push(name);
    }
  }
  return [...rows.values()].sort((a, b) => b.nodes.length - a.nodes.length || (a.key < b.key ? -1 : 1));
}

function changeOf(from: string | undefined, to: string | undefined): string {
  if (to === undefined) return `- ${from}`;
  return from === undefined ? `+ ${to}` : `${from} -> ${to}`;
}
