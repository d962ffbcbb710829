import type { ChangeDocument, KeyDocument, NodeDocument, NodeServiceDocument } from '@rollcall/common/console.ts';
import { AGREEMENT, chainOf, type Step, sentencesOf, stateOfDocument } from '../model/chain.ts';
import { visible } from '../model/format.ts';
import { stateOfNode } from '../model/node-state.ts';
import { STATE_WORDS } from '../model/words.ts';
import { Foreign, Moment, Notice, StateBadge, Title, Waiting } from './parts.tsx';
import { useDocument } from './use-document.ts';
import { useStore } from './use-store.ts';

const EVERY_MS = 5000;

/** One node: what is wrong in a sentence, then for each service the chain of reasons, then every key. */
export function NodeView({ name }: { name: string }) {
  const { fleet, version } = useStore();
  version.value;
  const summary = fleet.node(name);
  const { document, problem, nowMs } = useDocument<NodeDocument>(
    `v1/nodes/${encodeURIComponent(name)}`,
    EVERY_MS,
    summary,
  );
  return (
    <>
      <Title>
        <small>Node</small> <Foreign text={name} />
      </Title>
      {summary ? (
        <p class="answer">
          <StateBadge state={stateOfNode(summary)} />{' '}
          <Foreign text={document ? sentencesOf(document.cause) : STATE_WORDS[stateOfNode(summary)].meaning} />
        </p>
      ) : (
        <Notice kind="warn">The cluster has no node of this name, or it is gone.</Notice>
      )}
      {document && problem !== undefined && <Notice kind="warn">{problem}: what follows may be out of date.</Notice>}
      {document ? <Details node={document} now={nowMs} /> : <Waiting problem={problem} />}
    </>
  );
}

function Details({ node, now }: { node: NodeDocument; now: number }) {
  const services = node.services.filter(({ state }) => state !== undefined);
  return (
    <>
      <dl class="facts">
        <Fact term="Pool" text={node.pool ?? 'none'} />
        <Fact term="Agent" text={node.agent.version ?? 'version not told'} />
        <Fact term="UID" text={node.uid} />
        {node.lifecycle && node.lifecycle.length > 0 && <Fact term="Lifecycle" text={node.lifecycle.join(', ')} />}
        {node.workspaces && <Fact term="Workspaces" text={node.workspaces.join(', ') || 'none'} />}
      </dl>
      {services.map((service) => (
        <ServiceChain key={service.name} service={service} node={node} />
      ))}
      <Keys node={node} now={now} />
      <Changes changes={node.changes} now={now} />
    </>
  );
}

function Fact({ term, text }: { term: string; text: string }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>
        <Foreign text={text} />
      </dd>
    </div>
  );
}

function ServiceChain({ service, node }: { service: NodeServiceDocument; node: NodeDocument }) {
  return (
    <section class="chain" aria-label={`Why: ${visible(service.name)}`}>
      <h2>
        <Foreign text={service.name} /> <StateBadge state={stateOfDocument(service)} />{' '}
        {service.dryRun && <span class="tag">dry run</span>}
      </h2>
      <ol>
        {chainOf(service, node).map((step) => (
          <ChainStep key={`${step.title} ${step.text}`} step={step} />
        ))}
      </ol>
    </section>
  );
}

const VERDICTS = {
  good: ['✓', 'speaks for ready'],
  bad: ['✗', 'speaks against it'],
  open: ['?', 'undecided'],
} as const;

function ChainStep({ step: { title, verdict, text } }: { step: Step }) {
  const [mark, meaning] = VERDICTS[verdict];
  return (
    <li class={verdict}>
      <span class="sign" role="img" aria-label={meaning}>
        {mark}
      </span>
      <b>{title}</b> <Foreign text={text} />
    </li>
  );
}

function Keys({ node, now }: { node: NodeDocument; now: number }) {
  return (
    <section>
      <h2>Every key that rollcall decides about</h2>
      <div class="wide">
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">On the Node</th>
              <th scope="col">Why</th>
              <th scope="col">Since</th>
            </tr>
          </thead>
          <tbody>
            {node.keys.map((key) => (
              <KeyRow key={`${key.kind} ${key.key}`} entry={key} now={now} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function KeyRow({ entry, now }: { entry: KeyDocument; now: number }) {
  const { kind, key, onNode, cause, agrees, labeler, ownership, since, overruled = [] } = entry;
  const ok = AGREEMENT[agrees];
  return (
    <tr class={ok}>
      <th scope="row">
        <small>{kind}</small> <Foreign text={key} />
      </th>
      <td data-title="On the Node">
        <span class="sign" aria-hidden="true">
          {VERDICTS[ok][0]}
        </span>{' '}
        <Foreign
          text={onNode === undefined ? 'not watched' : onNode === null ? 'absent' : onNode || 'an empty value'}
        />
      </td>
      <td data-title="Why">
        <Foreign text={sentencesOf(cause)} /> <small>({`${labeler}, ${ownership}`})</small>
        {overruled.map((other) => (
          <p key={other.labeler} class="quiet">
            Overruled: <Foreign text={`${other.labeler} says ${other.stance}, ${other.reason}`} />
          </p>
        ))}
      </td>
      <td data-title="Since">{since === undefined ? '–' : <Moment at={since} now={now} />}</td>
    </tr>
  );
}

function Changes({ changes, now }: { changes: readonly ChangeDocument[]; now: number }) {
  if (changes.length === 0) return null;
  return (
    <section>
      <h2>Last changes</h2>
      <ol class="changes">
        {changes.map((change) => (
          <li key={`${change.at} ${change.kind} ${change.key}`}>
            <Moment at={change.at} now={now} /> <Foreign text={changeText(change)} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function changeText({ kind, key, from, to, reason }: ChangeDocument): string {
  const what =
    to === undefined ? 'removed' : from === undefined ? `set to “${to}”` : `changed from “${from}” to “${to}”`;
  return `${kind} ${key} ${what}: ${reason}`;
}
