import type { PlanDocument } from '@rollcall/common/console.ts';
import { useMemo } from 'preact/hooks';
import { type PlanGroup, planGroups } from '../model/plan-groups.ts';
import { number, plural } from '../model/words.ts';
import { Foreign, NodeLink, Notice, Title, Waiting } from './parts.tsx';
import { useDocument } from './use-document.ts';
import { type Column, VirtualTable } from './virtual-table.tsx';

const EVERY_MS = 5000;

/** What is about to be written; in a dry run, what would be. */
export function PlanView() {
  const { document, problem } = useDocument<PlanDocument>('v1/plan', EVERY_MS, undefined);
  const groups = useMemo(() => planGroups(document?.nodes ?? []), [document]);
  return (
    <>
      <Title>What would change</Title>
      {document && problem !== undefined && <Notice kind="warn">{problem}: what follows may be out of date.</Notice>}
      {document ? <Plan document={document} groups={groups} /> : <Waiting problem={problem} />}
    </>
  );
}

function Plan({ document, groups }: { document: PlanDocument; groups: readonly PlanGroup[] }) {
  const { dryRun } = document.replica;
  const concerned = document.nodes.length;
  const how = dryRun
    ? 'This is a dry run: nothing is written to any Node. What rollcall would write is below.'
    : 'rollcall writes what is below as soon as it may; in a quiet cluster there is nothing.';
  return (
    <>
      <p class="answer">
        {concerned === 0
          ? 'Nothing: every Node says what rollcall wants it to say.'
          : `${plural(groups.length, 'change')} on ${plural(concerned, 'node')}.`}
      </p>
      <p class="quiet">{how}</p>
      {groups.map((group) => (
        <Group key={`${group.direction} ${group.what}`} group={group} dryRun={dryRun} />
      ))}
      {concerned > 0 && groups.length === 0 && (
        <p>No value changes: only who owns the keys, or what rollcall remembers of them.</p>
      )}
    </>
  );
}

const COLUMNS: readonly Column<PlanGroup['nodes'][number]>[] = [
  { title: 'Node', width: '30%', cell: ({ name }) => <NodeLink name={name} /> },
  { title: 'Why', width: 'auto', isSentence: true, cell: ({ reason }) => <Foreign text={reason} /> },
];

function Group({ group: { direction, what, nodes }, dryRun }: { group: PlanGroup; dryRun: boolean }) {
  const verb = direction === 'add' ? 'set' : 'removed';
  return (
    <details class={`change ${direction}`} open={nodes.length <= 5}>
      <summary>
        <span class="sign" aria-hidden="true">
          {direction === 'add' ? '+' : '−'}
        </span>{' '}
        <Foreign text={what} /> {dryRun ? `would be ${verb}` : `is to be ${verb}`} on <b>{number(nodes.length)}</b>{' '}
        {nodes.length === 1 ? 'node' : 'nodes'}
      </summary>
      <VirtualTable caption={`Nodes: ${what}`} columns={COLUMNS} rows={nodes} keyOf={({ name }) => name} />
    </details>
  );
}
