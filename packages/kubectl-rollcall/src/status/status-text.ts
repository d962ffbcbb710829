import { AGENT_WORDS } from '@rollcall/common/console-words.ts';
import { printFindings } from '../findings.ts';
import { count, grouped, listed } from '../text/count.ts';
import { Page, type Terminal } from '../text/page.ts';
import type { Column } from '../text/table.ts';
import type { PoolStatus, Question, Status } from './status-of.ts';

const none = (n: number) => (n === 0 ? '-' : grouped(n));

const POOLS: readonly Column<PoolStatus>[] = [
  { title: 'POOL', cell: ({ pool }) => pool, gives: true },
  { title: 'SERVICE', cell: ({ service }) => service, gives: true },
  { title: 'NODES', cell: ({ nodes }) => grouped(nodes), isNumber: true },
  { title: 'READY', cell: ({ ready }) => none(ready), isNumber: true },
  { title: 'NOT READY', cell: ({ notReady }) => none(notReady), isNumber: true },
  { title: 'UNKNOWN', cell: ({ unknown }) => none(unknown), isNumber: true },
];

const HELD_BACK: Column<PoolStatus> = { title: 'HELD BACK', cell: ({ heldBack }) => none(heldBack), isNumber: true };

/** The answer first, then what is to be done, then the figures. */
export function statusText(status: Status, terminal: Terminal, isWide: boolean): string {
  const page = new Page(terminal);
  const { replica, holds, answer, services, agents, agentVersions, pools, findings } = status;
  const warned = (about: Question) => findings.some((finding) => finding.about === about);
  const toneOf = (isYes: boolean, about: Question) => (isYes ? (warned(about) ? 'doubtful' : 'good') : 'bad');
  page.line(answer, { tone: toneOf(holds, 'rollcall') });
  if (status.nodes > 0) page.line(services.answer, { tone: toneOf(services.ready, 'services') });
  if (findings.length > 0) page.line();
  printFindings(page, findings);
  page.line();
  const states = Object.entries(AGENT_WORDS).flatMap(([state, word]) => {
    const nodes = agents[state as keyof typeof AGENT_WORDS] ?? 0;
    return nodes > 0 ? [`${grouped(nodes)} ${word}`] : [];
  });
  const versions = Object.entries(agentVersions).map(([version, nodes]) => `${version} (${grouped(nodes)})`);
  page.field(
    'leader',
    replica.leading
      ? `${replica.name}, ${replica.version}${replica.dryRun ? ', dry run' : ''}`
      : (replica.leader ?? 'unknown'),
  );
  page.field('agents', `${states.join(', ') || 'none'}${versions.length > 0 ? `; version ${listed(versions)}` : ''}`);
  page.field('guards', replica.guards.map(({ subject, of }) => `${subject} (${of})`).join(', ') || 'none active');
  if (isWide)
    page.field('settings', `gate ${replica.readinessGate ?? 'unknown'}, silent after ${replica.staleAfterSeconds} s`);
  if (pools.length === 0) {
    page.line().line(`rollcall checks no service on ${count(status.nodes, 'node')}. A NodeService says what to check:`);
    page.line('  kubectl explain nodeservice.spec');
  } else page.line().table(pools, isWide || pools.some(({ heldBack }) => heldBack > 0) ? [...POOLS, HELD_BACK] : POOLS);
  return page.text;
}
