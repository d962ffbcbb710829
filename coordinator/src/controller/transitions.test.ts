import { expect, test } from 'vitest';
import { snapshot, WS_DAEMON_LABEL, WS_DAEMON_SERVICE } from '../decide/readiness/readiness.test-fixtures.ts';
import type { ServiceVerdict } from '../decide/readiness/verdict.ts';
import { createIntern } from '../state/intern.ts';
import { nodeRecord } from '../state/node-record.test-fixtures.ts';
import { observeNode } from '../state/observed-node.ts';
import type { Term } from '../state/term.ts';
import { Transitions } from './transitions.ts';

/** A node that shows the label of ws-daemon, or does not, with what the evidence says. */
function at(isShown: boolean, state: ServiceVerdict['state']) {
  const labels = isShown ? { [WS_DAEMON_LABEL]: 'true' } : {};
  const metadata = { name: 'n', uid: 'u', resourceVersion: '1', labels };
  const readiness = new Map([['ws-daemon', { state, reason: 'because', cause: 'agent' as const, sinceMs: 0 }]]);
  return [observeNode({ metadata }, createIntern(), new Set()), { ...snapshot(), readiness, ageMs: 0 }] as const;
}

test('a service is ready for the first time on a node that is new in the term, once', () => {
  const transitions = new Transitions(() => [WS_DAEMON_SERVICE]);
  const record = nodeRecord('n', 'u', { isNew: true });
  transitions.firstSeen(record, ...at(false, 'not-ready'));
  const happened = [at(true, 'ready'), at(true, 'ready'), at(false, 'not-ready'), at(true, 'ready')].flatMap((seen) =>
    transitions.shown(record, ...seen),
  );
  expect(happened.map((each) => [each.kind, 'isFirst' in each && each.isFirst])).toEqual([
    ['ready', true],
    ['not-ready', false],
    ['ready', false],
  ]);
});

test('what a Node shows against the evidence is no transition, nor what it showed when it was first seen', () => {
  const transitions = new Transitions(() => [WS_DAEMON_SERVICE]);
  const record = nodeRecord();
  transitions.firstSeen(record, ...at(true, 'ready'));
  transitions.firstSeen(record, ...at(false, 'not-ready'));
  expect(transitions.shown(record, ...at(false, 'ready'))).toEqual([]);
  expect(transitions.shown(record, ...at(false, 'not-ready')).map(({ kind }) => kind)).toEqual(['not-ready']);
});

test('a guard begins and ends once in a term', () => {
  const transitions = new Transitions(() => []);
  const [first, second] = [{} as Term, {} as Term];
  const guard = { subject: 'agents', of: 'fleet', nodes: 3 } as const;
  const kinds = (term: Term, ...active: (typeof guard)[]) => transitions.guards(term, active).map(({ kind }) => kind);
  expect([kinds(first, guard), kinds(first, guard), kinds(second, guard), kinds(first)]).toEqual([
    ...[['guard-active'], [], ['guard-active'], ['guard-cleared']],
  ]);
});
