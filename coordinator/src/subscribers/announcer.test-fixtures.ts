import { Registry } from '@rollcall/common/metrics.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { Transitions } from '../controller/transitions.ts';
import { snapshot, WS_DAEMON_SERVICE } from '../decide/readiness/readiness.test-fixtures.ts';
import type { ServiceVerdict } from '../decide/readiness/verdict.ts';
import { createIntern } from '../state/intern.ts';
import { nodeRecord } from '../state/node-record.test-fixtures.ts';
import { type ObservedNode, observeNode } from '../state/observed-node.ts';
import type { ObservedPod } from '../state/observed-pod.ts';
import { Term } from '../state/term.ts';
import { Announcer } from './announcer.ts';
import type { EventNews } from './events/event-object.ts';
import { ServiceMetrics } from './service-metrics.ts';

export function newTerm(): Term {
  const quiet = { onChange: () => {}, services: () => [], sight: () => undefined, reports: () => new Map() };
  return new Term({ windowMs: 30_000, guardPercent: 55, ...quiet }, 0);
}

export function nodeWith(labels: Record<string, string>): ObservedNode {
  return observeNode({ metadata: { name: 'n', uid: 'u', resourceVersion: '1', labels } }, createIntern(), new Set());
}

/** An announcer, and what it announces about the node `n`. */
export function announced(services = [WS_DAEMON_SERVICE]) {
  const news: string[] = [];
  const events: EventNews[] = [];
  const gates: string[] = [];
  const registry = new Registry();
  const clock = new FakeClock();
  const announcer = new Announcer({
    services: () => services,
    record: (each) => {
      events.push(each);
      news.push(`${each.reason}: ${each.message}`);
    },
    gateOpened: (outcome) => gates.push(outcome),
    metrics: new ServiceMetrics(registry),
    lease: { namespace: 'rollcall', name: 'lease' },
    withheld: (service, namesMax) => `${namesMax} nodes wait for ${service}`,
    clock,
  });
  const transitions = new Transitions(() => services);
  const record = nodeRecord();
  /** The Node as it is shown, and what the evidence says. */
  const nodeAndEvidence = (
    label: string | undefined,
    state: ServiceVerdict['state'],
    pods?: readonly ObservedPod[],
  ) => {
    const labels = label === undefined ? {} : Object.fromEntries(services.map(({ publish }) => [publish.label, label]));
    const readiness = new Map(
      services.map(({ name }) => [name, { state, reason: 'because', cause: 'agent' as const, sinceMs: 0 }]),
    );
    const evaluated = { ...snapshot(pods ? { pods } : {}), readiness, ageMs: 0 };
    return [nodeWith(labels), evaluated] as const;
  };
  const shows = (
    label: string | undefined,
    state: ServiceVerdict['state'],
    more: { at?: typeof record; pods?: readonly ObservedPod[] } = {},
  ) => announcer.happened(transitions.shown(more.at ?? record, ...nodeAndEvidence(label, state, more.pods)));
  const sees = (label: string | undefined, state: ServiceVerdict['state']) =>
    transitions.firstSeen(record, ...nodeAndEvidence(label, state));
  const guards = (...of: Parameters<Transitions['guards']>) => announcer.happened(transitions.guards(...of));
  /** The lines of a metric. */
  const metric = async (name: string) => {
    const text = await registry.getSingleMetricAsString(name);
    return text.split('\n').filter((line) => !line.startsWith('#') && line !== '');
  };
  return { announcer, transitions, clock, news, events, gates, guards, shows, sees, metric };
}
