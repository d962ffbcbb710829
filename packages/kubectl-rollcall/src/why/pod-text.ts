import type { ScheduleDocument, ScheduledNode } from '@rollcall/common/console.ts';
import { count, grouped } from '../text/count.ts';
import { Page, type Terminal } from '../text/page.ts';
import type { Column } from '../text/table.ts';

const NODES_SHOWN = 20;

const NODES: readonly Column<ScheduledNode>[] = [
  { title: 'NODE', cell: ({ name }) => name, gives: true },
  { title: 'SCORE', cell: ({ score, passes }) => (passes ? String(score) : '-'), isNumber: true },
  {
    title: 'VERDICT',
    cell: ({ refusals }) => refusals.map(({ message }) => message).join('; ') || 'passes',
    gives: true,
  },
];

/** Why a pod may go where. */
export function whyPodText(
  document: ScheduleDocument,
  terminal: Terminal,
  isWide: boolean,
): { isWell: boolean; text: string } {
  const { pod, nodes } = document;
  const page = new Page(terminal);
  const name = `pod/${pod.namespace}/${pod.name}`;
  const passing = nodes.filter(({ passes }) => passes).toSorted((a, b) => b.score - a.score);
  const refused = nodes.filter(({ passes }) => !passes);
  const [best] = passing;
  if (best && refused.length === 0 && nodes.every(({ terms }) => terms.length === 0)) {
    page.line(`rollcall lets ${name} run on any node: ${pod.workspace}`, { tone: 'good' });
    page.line(
      `If it stays Pending, kube-scheduler has another reason: kubectl -n ${pod.namespace} describe pod ${pod.name}`,
      { tone: 'quiet' },
    );
    return { isWell: true, text: page.text };
  }
  const reasons = commonReasons(refused);
  if (best) {
    page.line(
      `${name} may run on ${grouped(passing.length)} of ${count(nodes.length, 'node')}, preferably on ${best.name} (score ${best.score}).`,
      { tone: 'good' },
    );
    page.line(othersText(refused.length, reasons), { tone: 'quiet' });
  } else {
    page.line(`${name} may run on none of ${count(nodes.length, 'node')}.`, { tone: 'bad' });
    page.line(
      reasons
        .slice(0, 2)
        .map(({ reason, nodes: n }) => `${count(n, 'node')}: ${reason}`)
        .join('; ') || 'The cluster has no nodes.',
      { tone: 'quiet' },
    );
  }
  if (reasons.length > 0) {
    page.line().table(reasons, [
      { title: 'NODES', cell: ({ nodes: n }) => grouped(n), isNumber: true },
      { title: 'REASON', cell: ({ reason }) => reason, gives: true },
    ]);
  }
  const rows = [...passing, ...refused];
  const shown = isWide ? rows : rows.slice(0, NODES_SHOWN);
  page.line().table(shown, NODES);
  if (shown.length < rows.length)
    page.line(`… and ${grouped(rows.length - shown.length)} more; -o wide prints all.`, { tone: 'quiet' });
  return { isWell: best !== undefined, text: page.text };
}

function othersText(refused: number, [most, ...more]: readonly { reason: string; nodes: number }[]): string {
  if (!most) return 'No node is refused.';
  const who = refused === 1 ? 'The other is' : more.length === 0 ? 'The others are' : 'Most of the others are';
  return `${who} refused: ${most.reason} (${count(most.nodes, 'node')}).`;
}

function commonReasons(refused: readonly ScheduledNode[]): { reason: string; nodes: number }[] {
  const counts = new Map<string, number>();
  for (const { refusals } of refused) {
    const reason = refusals[0]?.message ?? 'no reason given';
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, nodes]) => ({ reason, nodes })).sort((a, b) => b.nodes - a.nodes);
}
