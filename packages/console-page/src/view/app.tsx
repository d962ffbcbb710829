import { useSignal } from '@preact/signals';
import { guardCure, guardText } from '@rollcall/common/guards.ts';
import { useEffect, useRef } from 'preact/hooks';
import { ago, timeOfDay, visible } from '../model/format.ts';
import { troubles } from '../model/node-state.ts';
import { hashOf, type Route } from '../model/route.ts';
import { fleetSentence } from '../model/words.ts';
import { FleetView } from './fleet-view.tsx';
import { LedgerView } from './ledger-view.tsx';
import { NodeView } from './node-view.tsx';
import { Foreign, Notice } from './parts.tsx';
import { PlanView } from './plan-view.tsx';
import { ServicesView, ServiceView } from './services-view.tsx';
import { useStore } from './use-store.ts';

const ANNOUNCE_MS = 4000;

export function App() {
  const { route, isStale } = useStore();
  return (
    <>
      <Header />
      <main id="main" class={isStale.value ? 'stale' : undefined}>
        <Banners />
        <Focused route={route.value} />
      </main>
      <Announcer />
    </>
  );
}

const VIEWS: readonly { view: 'fleet' | 'services' | 'plan' | 'ledger'; name: string; with?: Route['view'] }[] = [
  { view: 'fleet', name: 'Fleet', with: 'node' },
  { view: 'services', name: 'Services', with: 'service' },
  { view: 'plan', name: 'What would change' },
  { view: 'ledger', name: 'Truth ledger' },
];

function Header() {
  const { route, replica } = useStore();
  const { view } = route.value;
  return (
    <header>
      <button class="skip" type="button" onClick={() => document.getElementById('title')?.focus()}>
        Skip to the content
      </button>
      <span class="brand">rollcall</span>
      <nav aria-label="Views">
        {VIEWS.map((each) => (
          <a
            key={each.view}
            href={hashOf({ view: each.view })}
            aria-current={each.view === view ? 'page' : each.with === view ? 'true' : undefined}
          >
            {each.name}
          </a>
        ))}
      </nav>
      {replica.value?.dryRun && <span class="tag">dry run</span>}
      <Link />
    </header>
  );
}

function Link() {
  const { link, replica } = useStore();
  const { state } = link.value;
  const words = { live: 'Live', connecting: 'Connecting', lost: 'Connection lost' }[state];
  const { name, version, leading } = replica.value ?? {};
  const who = name === undefined ? '' : visible(`${leading ? 'leader' : 'standby'} ${name}, ${version}`);
  return (
    <span class={`link ${state}`}>
      <b>{words}</b> <small>{who}</small>
    </span>
  );
}

/** What one has to know before one believes what is below. */
function Banners() {
  const store = useStore();
  const { replica, link } = store;
  const now = store.nowMs.value;
  const { leading, note, leader, guards = [] } = replica.value ?? {};
  const lost = link.value.state === 'lost' ? link.value : undefined;
  return (
    <>
      <div role="alert">
        {lost && (
          <p class="notice bad">
            <b>{lost.heardMs === undefined ? 'No connection' : 'Connection lost'}.</b> {lost.reason}.{' '}
            {lost.heardMs === undefined
              ? 'Nothing is known yet.'
              : `What you see is as of ${timeOfDay(lost.heardMs)} and may be out of date.`}
          </p>
        )}
      </div>
      {lost && (
        <p class="retry">
          {lost.heardMs !== undefined && `Last heard ${ago(lost.heardMs, now)}. `}
          {lost.nextTryMs > now ? 'Trying again in a moment. ' : 'Trying now. '}
          <button type="button" onClick={() => store.hurry()}>
            Try now
          </button>
        </p>
      )}
      {leading === false && (
        <Notice kind="warn">
          <Foreign text={`${note ?? 'This replica does not lead'}${leader === undefined ? '' : ` (${leader})`}.`} />
        </Notice>
      )}
      {guards.map((guard) => (
        <Notice key={`${guard.subject} ${guard.of}`} kind="warn">
          <Foreign text={`${guardText(guard)}. What helps: ${guardCure(guard)}.`} />
        </Notice>
      ))}
    </>
  );
}

/** The view, whose title gets the focus whenever another one is opened. */
function Focused({ route }: { route: Route }) {
  const isFirst = useRef(true);
  const hash = hashOf(route);
  useEffect(() => {
    if (!isFirst.current) document.getElementById('title')?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [hash]);
  switch (route.view) {
    case 'fleet':
      return <FleetView />;
    case 'services':
      return <ServicesView />;
    case 'plan':
      return <PlanView />;
    case 'ledger':
      return <LedgerView />;
    case 'node':
      return <NodeView key={route.name} name={route.name} />;
    case 'service':
      return <ServiceView key={route.name} name={route.name} />;
  }
}

/** Says what became of the fleet, to screen readers and in the title of the tab; not more often than one can listen to. */
function Announcer() {
  const { fleet, version, link, isKnown, clock } = useStore();
  const said = useSignal('');
  version.value;
  const { state } = link.value;
  const isLive = state === 'live' && isKnown.value;
  const sentence = fleetSentence(fleet.size, fleet.counts);
  const bad = troubles(fleet.counts);
  useEffect(() => {
    const trouble = bad > 0 ? `(${bad}) ` : '';
    document.title = state === 'lost' ? 'No connection – rollcall' : `${trouble}rollcall`;
  }, [state, bad]);
  useEffect(() => {
    if (!isLive) return;
    return clock.after(said.peek() === '' ? 0 : ANNOUNCE_MS, () => {
      said.value = sentence;
    });
  }, [sentence, isLive, clock, said]);
  return (
    <p class="unseen" role="status">
      {said.value}
    </p>
  );
}
