import type { ServiceDocument, ServicesDocument } from '@rollcall/common/console.ts';
import { visible } from '../model/format.ts';
import { noCounts, STATES, type State, stateOfService } from '../model/node-state.ts';
import { hashOf } from '../model/route.ts';
import { number, plural, STATE_WORDS } from '../model/words.ts';
import { HeatMap } from './heat-map.tsx';
import { NodeTable } from './node-table.tsx';
import { Foreign, Glyph, Notice, Title, Waiting } from './parts.tsx';
import { useDocument } from './use-document.ts';
import { useNodeState } from './use-node-state.ts';
import { useStore } from './use-store.ts';

const EVERY_MS = 10_000;

/** On how many nodes the service is in which state, by what the stream told. */
function countsOf(service: string, store: ReturnType<typeof useStore>) {
  const counts = noCounts();
  for (const node of store.fleet.nodes()) {
    const state = stateOfService(node, service);
    if (state !== undefined) counts[state] += 1;
  }
  return counts;
}

/** All services, and on how many nodes each is ready. */
export function ServicesView() {
  const { document, problem } = useDocument<ServicesDocument>('v1/services', EVERY_MS, undefined);
  return (
    <>
      <Title>Services</Title>
      {document && problem !== undefined && <Notice kind="warn">{problem}: what follows may be out of date.</Notice>}
      {document ? (
        document.services.map((service) => <ServiceCard key={service.name} service={service} />)
      ) : (
        <Waiting problem={problem} />
      )}
    </>
  );
}

function ServiceCard({ service }: { service: ServiceDocument }) {
  const store = useStore();
  store.version.value;
  const counts = countsOf(service.name, store);
  const total = STATES.reduce((sum, state) => sum + counts[state], 0);
  return (
    <section class="card">
      <h2>
        <a href={hashOf({ view: 'service', name: service.name })}>
          <Foreign text={service.name} />
        </a>{' '}
        <small>
          {service.accepted
            ? `ready on ${number(counts.ready)} of ${plural(total, 'node')}`
            : visible(`not in force: ${service.problem?.reason ?? 'not accepted'}`)}
        </small>
      </h2>
      <Bar counts={counts} total={total} />
      <About service={service} />
    </section>
  );
}

/** Shares of the states, as a bar; the words beside it say the same. */
function Bar({ counts, total }: { counts: Readonly<Record<State, number>>; total: number }) {
  const present = STATES.filter((state) => counts[state] > 0).toReversed();
  if (total === 0) return null;
  return (
    <div class="shares">
      <div class="bar" aria-hidden="true">
        {present.map((state) => (
          <span key={state} class={`share ${state}`} style={{ flexGrow: counts[state] }} />
        ))}
      </div>
      {present.map((state) => (
        <span key={state} class="badge">
          <Glyph state={state} />
          <b>{number(counts[state])}</b> {STATE_WORDS[state].name.toLowerCase()}
        </span>
      ))}
    </div>
  );
}

function About({ service: { publish, dryRun, checks, problem, origin, mode } }: { service: ServiceDocument }) {
  const shown = [
    publish.label && `label ${publish.label}`,
    publish.taint && `taint ${publish.taint}`,
    publish.condition && `condition ${publish.condition}`,
  ].filter((each) => each !== undefined);
  return (
    <dl class="facts">
      {problem && (
        <div class="bad">
          <dt>Not in force</dt>
          <dd>
            <Foreign text={problem.message} />
          </dd>
        </div>
      )}
      <div>
        <dt>Ready when</dt>
        <dd>
          <Foreign
            text={checks.map(({ name, what }) => `${name}: ${what}`).join('; and ') || 'nothing speaks against it'}
          />
        </dd>
      </div>
      <div>
        <dt>Shown by</dt>
        <dd>
          <Foreign text={shown.join(', ') || 'nothing'} />
          {dryRun && ' (dry run: nothing is written)'}
        </dd>
      </div>
      <div>
        <dt>Kind</dt>
        <dd>
          {origin === 'built-in' ? 'built in' : origin}
          {mode === 'Startup' ? ', judged until it is ready for the first time' : ''}
        </dd>
      </div>
    </dl>
  );
}

/** One service across the fleet. */
export function ServiceView({ name }: { name: string }) {
  const store = useStore();
  const { fleet, version } = store;
  version.value;
  const { document } = useDocument<ServicesDocument>('v1/services', EVERY_MS, undefined);
  const stateOf = useNodeState(store, name);
  const counts = countsOf(name, store);
  const total = STATES.reduce((sum, state) => sum + counts[state], 0);
  const service = document?.services.find((each) => each.name === name);
  const trouble = [...fleet.nodes()].filter((node) => !['ready', undefined].includes(stateOfService(node, name)));
  const caption =
    trouble.length === 0
      ? 'It is ready wherever it is to be'
      : `${plural(trouble.length, 'node')} where it is not ready`;
  return (
    <>
      <Title>
        <small>Service</small> <Foreign text={name} />
      </Title>
      <p class="answer">
        {total === 0 ? 'No node is for this service.' : `Ready on ${number(counts.ready)} of ${plural(total, 'node')}.`}
      </p>
      <Bar counts={counts} total={total} />
      {service && <About service={service} />}
      <h2>{caption}</h2>
      {trouble.length > 0 && (
        <NodeTable
          caption={caption}
          nodes={trouble}
          stateOf={(node) => stateOfService(node, name) ?? 'none'}
          linesMax={5}
        />
      )}
      {fleet.pools().map((pool) => (
        <section key={pool.name} class="pool">
          <h2>
            <Foreign text={pool.name === '' ? 'Nodes in no pool' : `Pool ${pool.name}`} />
          </h2>
          <HeatMap
            label={`${name} in ${pool.name || 'no pool'}`}
            names={pool.nodes}
            onPage={fleet.size}
            stateOf={stateOf}
            only={undefined}
          />
        </section>
      ))}
    </>
  );
}
