import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { expect, test } from 'vitest';
import { snapshot, WS_DAEMON_SERVICE } from '../decide/readiness/readiness.test-fixtures.ts';
import type { Verdict } from '../decide/readiness/verdict.ts';
import { nodeRecord } from '../fleet/node-record.test-fixtures.ts';
import { createIntern, observeNode } from '../fleet/observed-node.ts';
import { Term } from '../fleet/term.ts';
import { serviceOf } from '../setup/services.test-fixtures.ts';
import { Announcer } from './announcer.ts';
import type { EventNews } from './events/event-news.ts';
import { GitpodMetrics } from './gitpod-metrics.ts';

function announced(services = [WS_DAEMON_SERVICE]) {
  const news: string[] = [];
  const announcer = new Announcer({
    services: () => services,
    gate: 'label',
    record: ({ reason, message }: EventNews) => news.push(`${reason}: ${message}`),
    gateOpened: () => {},
    metrics: new GitpodMetrics(new Registry()),
    lease: { namespace: 'rollcall', name: 'lease' },
    clock: new FakeClock(),
  });
  const record = nodeRecord();
  /** The Node as it is shown, and what the evidence says. */
  const shows = (label: string | undefined, state: Verdict['state'], at = record) => {
    const labels = label === undefined ? {} : Object.fromEntries(services.map(({ publish }) => [publish.label, label]));
    const node = observeNode(
      { metadata: { name: 'n', uid: 'u', resourceVersion: '1', labels } },
      createIntern(),
      new Set(),
    );
    const readiness = new Map(services.map(({ name }) => [name, { state, reason: 'because', sinceMs: 0 }]));
    announcer.shows(at, node, { ...snapshot(), readiness, ageMs: 0 });
  };
  return { announcer, news, shows };
}

test('each change of readiness is told once, with the evidence', () => {
  const { news, shows } = announced();
  shows(undefined, 'not-ready');
  shows('true', 'ready');
  shows('true', 'ready');
  shows(undefined, 'not-ready');
  expect(news).toEqual([
    'ServiceReady: ws-daemon is ready: because',
    'ServiceNotReady: ws-daemon is not ready: because',
  ]);
});

test('services that change together are told in one Event', () => {
  const { news, shows } = announced([serviceOf('registry-facade'), WS_DAEMON_SERVICE]);
  shows(undefined, 'not-ready');
  shows('true', 'ready');
  shows(undefined, 'not-ready');
  expect(news).toEqual([
    'ServiceReady: registry-facade is ready: because; ws-daemon is ready: because',
    'ServiceNotReady: registry-facade is not ready: because; ws-daemon is not ready: because',
  ]);
});

test('what a node shows at first sight is no news, but what becomes of it is', () => {
  const { news, shows } = announced();
  shows('true', 'not-ready');
  shows(undefined, 'not-ready');
  expect(news).toEqual(['ServiceNotReady: ws-daemon is not ready: because']);
});

test('a key that is put right after somebody changed it is no news', () => {
  const { news, shows } = announced();
  shows('true', 'ready');
  shows(undefined, 'ready');
  shows('true', 'ready');
  expect(news).toEqual([]);
});

test('a label that goes for another reason than readiness is no news', () => {
  const { news, shows } = announced();
  shows('true', 'ready');
  shows(undefined, 'unknown');
  expect(news).toEqual([]);
});

test('a new term begins with what it finds', () => {
  const { announcer, news, shows } = announced();
  const newTerm = () => new Term({ windowMs: 30_000, guardPercent: 55, onChange: () => {} }, 0);
  announcer.guards(newTerm(), ['fleet']);
  shows('true', 'ready');
  announcer.guards(newTerm(), []);
  shows(undefined, 'not-ready', nodeRecord());
  expect(news).toEqual(['SilenceGuardActive: So many agents are silent (fleet) that silence removes no labels']);
});
