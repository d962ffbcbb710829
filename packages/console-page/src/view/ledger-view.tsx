import type { AuditDocument, AuditEntry, AuditKey } from '@rollcall/common/console.ts';
import { useMemo } from 'preact/hooks';
import { ago, seconds, span } from '../model/format.ts';
import { CAUSE_WORDS, number, plural } from '../model/words.ts';
import { Foreign, NodeLink, Notice, Title, Waiting } from './parts.tsx';
import { useDocument } from './use-document.ts';
import { type Column, VirtualTable } from './virtual-table.tsx';

const EVERY_MS = 5000;
const DAY_SECONDS = 86_400;

/** How long Nodes said what the evidence contradicts. */
export function LedgerView() {
  const { document, problem, nowMs } = useDocument<AuditDocument>('v1/audit', EVERY_MS, undefined);
  return (
    <>
      <Title>Truth ledger</Title>
      {document && problem !== undefined && <Notice kind="warn">{problem}: what follows may be out of date.</Notice>}
      {document ? <Ledger audit={document} now={nowMs} /> : <Waiting problem={problem} />}
    </>
  );
}

function Ledger({ audit, now }: { audit: AuditDocument; now: number }) {
  const { driftSecondsPerNodeDay, since, nodes, keys, entries, replica } = audit;
  const keptSeconds = (now - Date.parse(since)) / 1000;
  const entriesSorted = useMemo(
    () =>
      entries.toSorted(
        (a, b) => Number(b.since !== undefined) - Number(a.since !== undefined) || b.seconds - a.seconds,
      ),
    [entries],
  );
  return (
    <>
      <p class="answer">
        <b class="big">{seconds(driftSecondsPerNodeDay)}</b> a node a day
        {keptSeconds < DAY_SECONDS && `, extrapolated from ${span(keptSeconds)}`}
      </p>
      <p class="quiet">
        So long a Node said something of a service that the evidence contradicts, on average over{' '}
        {plural(nodes, 'node')}. The book was begun by this leader {ago(since, now)}
        {replica.dryRun
          ? '; rollcall is in a dry run, so this is the book of the program that writes the keys now'
          : ''}
        .
      </p>
      <Keys keys={keys} />
      <h2>
        {entries.length === 0
          ? 'No entries'
          : `${plural(entries.length, 'entry').replace('entrys', 'entries')}, by node and cause`}
      </h2>
      {entries.length > 0 && (
        <VirtualTable
          caption="Entries of the ledger"
          columns={columnsAt(now)}
          rows={entriesSorted}
          keyOf={(entry) => [entry.node, entry.kind, entry.key, entry.direction, entry.cause].join(' ')}
        />
      )}
    </>
  );
}

const DIRECTIONS = { 'said-ready': 'said ready, was not', 'said-not-ready': 'said not ready, was' } as const;

function columnsAt(now: number): Column<AuditEntry>[] {
  return [
    { title: 'Node', width: '20%', cell: ({ node }) => <NodeLink name={node} /> },
    { title: 'Key', width: '16%', cell: ({ key, service }) => <Foreign text={service ?? key} /> },
    { title: 'What it said', width: '12rem', cell: ({ direction }) => DIRECTIONS[direction] },
    { title: 'For', width: '7.5rem', isNumber: true, cell: (entry) => seconds(entry.seconds) },
    { title: 'Times', width: '5rem', isNumber: true, cell: ({ times }) => number(times) },
    {
      title: 'Because',
      width: 'auto',
      isSentence: true,
      cell: ({ cause, evidence, since }) => (
        <>
          {since !== undefined && <b>Now, since {ago(since, now)}: </b>}
          <span title={CAUSE_WORDS[cause].meaning}>{CAUSE_WORDS[cause].name}</span> – <Foreign text={evidence} />
        </>
      ),
    },
  ];
}

function Keys({ keys }: { keys: readonly AuditKey[] }) {
  const worst = Math.max(1, ...keys.map((key) => key.saidReadySeconds + key.saidNotReadySeconds));
  if (keys.length === 0) return <p>No Node has said anything wrong so far.</p>;
  return (
    <section>
      <h2>By key</h2>
      <div class="wide">
        <table class="ledger">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col" class="number">
                Said ready, was not
              </th>
              <th scope="col" class="number">
                Said not ready, was
              </th>
              <th scope="col" class="number">
                Nodes now
              </th>
              <th scope="col">
                <span class="unseen">Compared</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {keys.map((key) => (
              <tr key={`${key.kind} ${key.key}`}>
                <th scope="row">
                  <small>{key.kind}</small> <Foreign text={key.key} />
                </th>
                <td class="number" data-title="Said ready, was not">
                  {seconds(key.saidReadySeconds)}
                </td>
                <td class="number" data-title="Said not ready, was">
                  {seconds(key.saidNotReadySeconds)}
                </td>
                <td class="number" data-title="Nodes now">
                  {number(key.nodesNow)}
                </td>
                <td class="bars" aria-hidden="true">
                  <span class="share not-ready" style={{ width: `${(key.saidReadySeconds / worst) * 100}%` }} />
                  <span class="share held-back" style={{ width: `${(key.saidNotReadySeconds / worst) * 100}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
