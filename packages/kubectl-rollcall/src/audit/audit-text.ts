import type { AuditDocument, AuditEntry, AuditKey } from '@rollcall/common/console.ts';
import { ago, duration } from '@rollcall/common/duration.ts';
import { count, grouped, isOrAre } from '../text/count.ts';
import { Page, type Terminal } from '../text/page.ts';
import type { Column } from '../text/table.ts';

const ENTRIES_SHOWN = 20;

/** Seconds, as long as they can be told apart. */
function lasted(seconds: number): string {
  if (seconds === 0) return '-';
  return seconds < 120 ? `${seconds.toFixed(seconds < 10 ? 2 : 0)}s` : duration(seconds * 1000);
}

const KEYS: readonly Column<AuditKey>[] = [
  { title: 'KEY', cell: ({ kind, key }) => (kind === 'label' ? key : `${key} (${kind})`), gives: true },
  { title: 'SAID READY', cell: ({ saidReadySeconds }) => lasted(saidReadySeconds), isNumber: true },
  { title: 'SAID NOT READY', cell: ({ saidNotReadySeconds }) => lasted(saidNotReadySeconds), isNumber: true },
  { title: 'NODES NOW', cell: ({ nodesNow }) => (nodesNow === 0 ? '-' : grouped(nodesNow)), isNumber: true },
];

/** How long Nodes said what was not so, with the worst nodes and why. */
export function auditText(
  document: AuditDocument,
  terminal: Terminal,
  isWide: boolean,
): { isTrue: boolean; text: string } {
  const { replica, since, nodes, driftSecondsPerNodeDay, keys, entries } = document;
  const page = new Page(terminal);
  const now = keys.reduce((sum, { nodesNow }) => sum + nodesNow, 0);
  const whose = replica.dryRun ? 'Keys that others write (dry run)' : 'Keys that rollcall writes';
  page.line(
    `${whose} contradicted the evidence for ${grouped(driftSecondsPerNodeDay)} s per node and day, on ${count(nodes, 'node')}; ${now === 0 ? 'no key is' : `${count(now, 'key')} ${isOrAre(now)}`} wrong now.`,
    { tone: now === 0 ? 'good' : 'bad' },
  );
  page.line(
    `${replica.name} began to count ${ago(since, replica.now)}; for the time before, see the metric rollcall_coordinator_lie_seconds_total.`,
    { tone: 'quiet' },
  );
  if (keys.length > 0) page.line().table(keys, KEYS);
  const worst = entries.toSorted(
    (a, b) => Number(b.since !== undefined) - Number(a.since !== undefined) || b.seconds - a.seconds,
  );
  const shown = isWide ? worst : worst.slice(0, ENTRIES_SHOWN);
  if (shown.length > 0) page.line().table(shown, entryColumns(isWide));
  if (shown.length < worst.length)
    page.line(`… and ${grouped(worst.length - shown.length)} more; -o wide prints all.`, { tone: 'quiet' });
  const [first] = shown;
  if (first?.since !== undefined) page.line().cure(`kubectl rollcall why node/${first.node} ${first.key}`);
  return { isTrue: now === 0, text: page.text };
}

function entryColumns(isWide: boolean): Column<AuditEntry>[] {
  return [
    { title: 'NODE', cell: ({ node }) => node, gives: true },
    { title: 'KEY', cell: ({ key }) => key, gives: true },
    { title: 'SAID', cell: ({ direction }) => direction.replace('said-', '') },
    {
      title: 'FOR',
      cell: ({ seconds, since }) => `${lasted(seconds)}${since === undefined ? '' : '+'}`,
      isNumber: true,
    },
    { title: 'CAUSE', cell: ({ cause }) => cause },
    ...(isWide ? [{ title: 'TIMES', cell: ({ times }: AuditEntry) => grouped(times), isNumber: true }] : []),
    { title: 'EVIDENCE', cell: ({ evidence }) => evidence, gives: true },
  ];
}
