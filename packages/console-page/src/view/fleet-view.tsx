import { useComputed, useSignal } from '@preact/signals';
import { NO_POOL } from '../model/fleet.ts';
import { timeOfDay } from '../model/format.ts';
import { isDisputed, needsLook, type State, stateOfNode } from '../model/node-state.ts';
import { fleetSentence, number, plural, STATE_WORDS } from '../model/words.ts';
import { HeatMap } from './heat-map.tsx';
import { NodeTable } from './node-table.tsx';
import { Foreign, Glyph, Title } from './parts.tsx';
import { Plot } from './plot.tsx';
import { useNodeState } from './use-node-state.ts';
import { useStore } from './use-store.ts';

/** The last two only where there are such nodes. */
const LEGEND: readonly State[] = ['ready', 'not-ready', 'held-back', 'silent', 'guarded', 'unknown', 'none'];

/** So that the cells are seen at the first glance as well. */
const LINES_MAX = 5;

/** The fleet at a glance: the answer in a sentence, then a cell for each node. */
export function FleetView() {
  const store = useStore();
  const { fleet, version, link, isKnown } = store;
  const only = useSignal<State | undefined>(undefined);
  const stateOf = useNodeState(store);
  version.value;
  const lost = link.value.state === 'lost' ? link.value : undefined;
  if (!isKnown.value) return lost ? null : <p class="quiet">Reading the fleet…</p>;
  const { counts, size } = fleet;
  return (
    <>
      <Title>
        {lost?.heardMs !== undefined && `As of ${timeOfDay(lost.heardMs)}: `}
        {fleetSentence(size, counts)}
      </Title>
      {size > 0 && counts.none === size && <Begin />}
      <Legend only={only.value} onPick={(state) => (only.value = only.value === state ? undefined : state)} />
      <NodesToLookAt only={only.value} />
      <section aria-label="Nodes by pool">
        {fleet.pools().map(({ name, nodes }) => (
          <section key={name} class="pool">
            <PoolTitle name={name} nodes={nodes} />
            <HeatMap label={nameOf(name)} names={nodes} onPage={size} stateOf={stateOf} only={only.value} />
          </section>
        ))}
      </section>
      <Plot />
    </>
  );
}

/** What to do where nothing is checked. */
function Begin() {
  return (
    <p class="quiet">
      A NodeService says what to check, and on which nodes. To write one: <code>kubectl explain nodeservice.spec</code>.
      To see those that are there: <code>kubectl get nodeservices</code>.
    </p>
  );
}

function nameOf(pool: string): string {
  return pool === NO_POOL ? 'Nodes in no pool' : `Pool ${pool}`;
}

function PoolTitle({ name, nodes }: { name: string; nodes: readonly string[] }) {
  const { fleet } = useStore();
  const bad = nodes.filter((node) => {
    const summary = fleet.node(node);
    return summary !== undefined && needsLook(summary);
  });
  return (
    <h2>
      <Foreign text={nameOf(name)} />{' '}
      <small>
        {bad.length === 0
          ? plural(nodes.length, 'node')
          : `${number(bad.length)} of ${plural(nodes.length, 'node')} to look at`}
      </small>
    </h2>
  );
}

/** Counts, what the cells mean, and a way to single out one state. */
function Legend({ only, onPick }: { only: State | undefined; onPick: (state: State) => void }) {
  const { fleet } = useStore();
  const disputed = [...fleet.nodes()].filter(isDisputed).length;
  const shown = LEGEND.filter((state, index) => index < 5 || fleet.counts[state] > 0);
  return (
    <fieldset class="legend">
      <legend class="unseen">Show one state</legend>
      {shown.map((state) => (
        <button
          key={state}
          type="button"
          aria-pressed={only === state}
          title={STATE_WORDS[state].meaning}
          onClick={() => onPick(state)}
        >
          <Glyph state={state} />
          <b>{number(fleet.counts[state])}</b> {STATE_WORDS[state].name}
        </button>
      ))}
      {disputed > 0 && (
        <span class="badge" title="Another client changes keys of these nodes, or owns them.">
          <Glyph state="none" isDisputed />
          <b>{number(disputed)}</b> with a marked corner: keys in dispute
        </span>
      )}
    </fieldset>
  );
}

function NodesToLookAt({ only }: { only: State | undefined }) {
  const { fleet, version } = useStore();
  const search = useSignal('');
  const found = useComputed(() => {
    version.value;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return { words, nodes: [...fleet.nodes()] };
  }).value;
  const rows = found.nodes.filter((node) => {
    if (only !== undefined) return stateOfNode(node) === only && matches(node, found.words);
    return found.words.length > 0 ? matches(node, found.words) : needsLook(node);
  });
  const what =
    only !== undefined
      ? `${plural(rows.length, 'node')} ${STATE_WORDS[only].name.toLowerCase()}`
      : found.words.length > 0
        ? `${plural(rows.length, 'node')} found`
        : rows.length === 0
          ? 'No node needs a look'
          : `${plural(rows.length, 'node')} to look at`;
  return (
    <section>
      <div class="row">
        <h2>{what}</h2>
        <input
          type="search"
          aria-label="Find nodes by name, pool, service or version"
          placeholder="Find by name, pool, service, version"
          maxLength={300}
          onInput={(event) => {
            search.value = event.currentTarget.value;
          }}
        />
      </div>
      {rows.length > 0 && <NodeTable caption={what} nodes={rows} stateOf={stateOfNode} linesMax={LINES_MAX} />}
    </section>
  );
}

function matches(
  node: { name: string; pool?: string; agentVersion?: string; services: object },
  words: readonly string[],
) {
  const text = [node.name, node.pool, node.agentVersion, ...Object.keys(node.services)].join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
}
