import type { ChangeDocument, KeyDocument, NodeDocument } from '@rollcall/common/console.ts';
import { ago } from '@rollcall/common/duration.ts';
import { Page, type Terminal } from '../text/page.ts';
import type { Column } from '../text/table.ts';
import { type NodeObject, ownersOf } from './owners.ts';
import type { PastEvent } from './past-events.ts';

export type NodeAnswer = { isWell: boolean; text: string };

type WhyNode = {
  key?: KeyDocument;
  /** As the API server has it, to say who owns what; absent where it may not be read. */
  node?: NodeObject | undefined;
  /** Events from before the record of changes begins. */
  events?: readonly PastEvent[];
  /** That rollcall is in. */
  namespace?: string;
  terminal: Terminal;
};

/** Why the node is as it is, or why one of its keys is. */
export function whyNodeText(
  document: NodeDocument,
  { key, node, events = [], namespace = 'rollcall', terminal }: WhyNode,
): NodeAnswer {
  const page = new Page(terminal);
  const { cause } = key ?? document;
  page.line(cause.headline, { tone: cause.isWell ? 'good' : 'bad' });
  page.line(cause.next, { tone: 'quiet' });
  if (document.lifecycle?.length) page.field('lifecycle', document.lifecycle.join(', '), { tone: 'doubtful' });
  const services = key ? document.services.filter(({ name }) => name === key.service) : document.services;
  const keysOf = (service: string | undefined) =>
    document.keys.filter((each) => (key ? each === key : each.service === service));
  for (const service of services) {
    page.line().line(`${service.name}${service.dryRun ? ' (dry run: nothing is written)' : ''}`, { tone: 'strong' });
    for (const { title, speaks, text } of service.steps) page.field(title, text, { indent: 2, tone: TONES[speaks] });
    for (const each of keysOf(service.name).filter(isSeen)) keyChain(page, each, { document, node });
  }
  const others = key?.service === undefined ? keysOf(undefined) : [];
  if (others.length > 0 && key) for (const each of others) keyChain(page.line(), each, { document, node });
  else if (others.length > 0) page.line().table(others.filter(isSeen), KEYS);
  const changes = key
    ? document.changes.filter((change) => change.key === key.key && change.kind === key.kind)
    : document.changes;
  changesChain(page, changes, document);
  if (document.changesSince !== undefined) logHint(page, document, namespace);
  const words = key && [key.key, ...(key.service === undefined ? [] : [key.service])];
  eventsChain(
    page,
    words ? events.filter(({ message }) => words.some((word) => message.includes(word))) : events,
    document,
  );
  return { isWell: cause.isWell, text: page.text };
}

const TONES = { for: 'good', against: 'bad', neither: 'doubtful' } as const;

function keyChain(
  page: Page,
  key: KeyDocument,
  { document, node }: { document: NodeDocument; node: NodeObject | undefined },
): void {
  const { kind, stance, value, onNode, labeler, overruled = [] } = key;
  const indent = 2;
  page.field('claim', `${stance} ${kind} ${key.key}${stance === 'present' ? `=${value}` : ''} (by ${labeler})`, {
    indent,
  });
  if (key.service === undefined) page.field('', key.reason, { indent });
  for (const other of overruled)
    page.field('', `overrules ${other.labeler}: ${other.stance} (${other.reason})`, { indent, tone: 'quiet' });
  const there = onNode === undefined ? 'not checked' : onNode === null ? 'absent' : JSON.stringify(onNode);
  const owners = node ? ownersOf(node, kind, key.key) : undefined;
  const owned =
    owners === undefined || onNode === null ? '' : `, owned by ${owners.join(', ') || 'no manager in managedFields'}`;
  page.field('node', `${there}${owned}`, { indent });
  if (key.contested) page.field('contested', `by ${key.contested.rival}`, { indent, tone: 'bad' });
  if (key.skipped) page.field('skipped', `${key.skipped.cause}: ${key.skipped.message}`, { indent, tone: 'bad' });
  if (document.replica.dryRun) page.field('dry run', 'nothing is written', { indent, tone: 'doubtful' });
}

/** Keys that are not watched and not wanted are left out. */
function isSeen({ onNode, stance }: KeyDocument): boolean {
  return onNode !== undefined || stance !== 'absent';
}

const KEYS: readonly Column<KeyDocument>[] = [
  { title: 'KEY', cell: ({ kind, key }) => (kind === 'label' ? key : `${key} (${kind})`), gives: true },
  { title: 'STANCE', cell: ({ stance }) => stance },
  { title: 'ON NODE', cell: ({ onNode }) => (onNode === undefined ? '?' : (onNode ?? '-')), gives: true },
  { title: 'REASON', cell: ({ reason }) => reason, gives: true },
];

function shown(value: string | null | undefined): string {
  return value === '' ? '""' : (value ?? '(absent)');
}

function changesChain(
  page: Page,
  changes: readonly ChangeDocument[],
  { changesSince, replica: { now } }: NodeDocument,
): void {
  const began = changesSince === undefined ? '' : `, which began to lead ${ago(changesSince, now)}`;
  if (changes.length === 0) {
    page.line().line(`No change by this coordinator yet${began}.`, { tone: 'quiet' });
    return;
  }
  page.line().line('last changes', { tone: 'strong' });
  for (const { at, key, from, to, reason } of changes) {
    page.field(ago(at, now), `${key}: ${shown(from)} -> ${shown(to)}: ${reason}`, { indent: 2 });
  }
  if (began !== '') page.line(`The record is of this coordinator${began}.`, { tone: 'quiet', indent: 2 });
}

/** Events go after an hour; the log of the coordinators has every change with its reason, as long as it is kept. */
function logHint(page: Page, { name }: NodeDocument, namespace: string): void {
  const logs = `kubectl -n ${namespace} logs -l app.kubernetes.io/component=coordinator --tail=-1`;
  page.cure(`${logs} | grep 'Changed a node' | grep '"${name}"'`, 2, 'older, in the log');
}

/** What happened under the leaders before. */
function eventsChain(page: Page, events: readonly PastEvent[], { replica: { now } }: NodeDocument): void {
  if (events.length === 0) return;
  page.line().line('before, by Events', { tone: 'strong' });
  for (const { at, reason, message, count } of events) {
    page.field(ago(at, now), `${reason}${count > 1 ? ` (${count} times)` : ''}: ${message}`, { indent: 2 });
  }
}
