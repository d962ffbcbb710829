import { expect, test } from 'vitest';
import type { SkippedKey } from '../decide/intent/plan.ts';
import { rulesOf } from '../decide/labelers/rules.test-fixtures.ts';
import { WhatIf } from '../decide/what-if.ts';
import { registryOf } from '../model/keys/key-registry.test-fixtures.ts';
import { podsCheck, probeCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { stage } from './node-controller.test-fixtures.ts';
import type { Transition } from './transitions.ts';

/** As a Node notes that the taint of a service went from it. */

test('of two hints in one second, each changes the node', async () => {
  const { evaluator, evaluated, addNode, clock } = stage();
  addNode('n');
  const hint = () => {
    evaluator.hint('n');
    return evaluated('n')?.schedulingHint;
  };
  const first = hint();
  expect(first).toMatch(/^\d{4}-.*Z$/);
  await clock.advance(10);
  expect(hint()).not.toBe(first);
});

test('what is remembered of a node goes with its uid, and with the term', () => {
  const { evaluator, controller, evaluated, addNode } = stage();
  addNode('n');
  evaluator.hint('n');
  addNode('n');
  expect(evaluated('n')?.schedulingHint).toBeDefined();
  addNode('n', { uid: 'other' });
  expect(evaluated('n')?.schedulingHint).toBeUndefined();
  evaluator.hint('n');
  controller.beginTerm();
  expect(evaluated('n')?.schedulingHint).toBeUndefined();
});

test('nothing is evaluated or planned before it may be decided', () => {
  let may = false;
  const seen: string[] = [];
  const subscribers = { changed: (name: string) => seen.push(name) };
  const { controller, addNode, report, agentPod } = stage({ mayDecide: () => may, subscribers });
  addNode('n');
  agentPod({ uid: 'a' });
  report('a', { ready: false });
  expect([controller.prepare('n'), seen]).toEqual([undefined, []]);
  may = true;
  expect(controller.prepare('n')?.withdrawal?.labels).toHaveLength(1);
  report('a', { ready: true });
  expect(seen).not.toEqual([]);
});

test('of the keys that are skipped, conditions of others are announced, and the node is looked at again', () => {
  const told: unknown[] = [];
  const subscribers = {
    happened: (all: readonly Transition[]) =>
      told.push(all.flatMap((each) => (each.kind === 'left-alone' ? [each.key.key] : []))),
    changed: (name: string) => told.push(name),
  };
  const { controller, addNode } = stage({ subscribers });
  addNode('n');
  told.length = 0;
  const foreign = { cause: 'foreign', wanted: 'True', message: '' } as const;
  const label: SkippedKey = { ...foreign, kind: 'label', key: 'a' };
  const refused: SkippedKey = { ...foreign, kind: 'condition', key: 'Refused', cause: 'denied' };
  controller.skipped('n', [label, refused]);
  controller.skipped('n', [label, refused, { ...foreign, kind: 'condition', key: 'Foreign' }]);
  expect(told).toEqual(['n', ['Foreign'], 'n']);
});

test.each<[string, (staged: ReturnType<typeof stage>) => void]>([
  ['a rule is changed', ({ controller }) => controller.rulesChanged(new Map([['a', '1']]), new Map([['a', '2']]))],
  ['a NodeService is changed', ({ controller }) => controller.servicesChanged(['uid'])],
])('every node is looked at when %s', (_what, act) => {
  const changed = new Set<string>();
  const subscribers = { changed: (name: string) => changed.add(name) };
  const staged = stage({ subscribers });
  for (const name of ['m', 'n']) staged.addNode(name);
  changed.clear();
  act(staged);
  expect([...changed].sort()).toEqual(['m', 'n']);
});

test('of a node that is not known nothing is said', () => {
  const { queries, controller, evaluated } = stage();
  expect([controller.prepare('n'), evaluated('n'), queries.explain('n'), queries.explain('n')]).toEqual(
    Array.from({ length: 4 }),
  );
});

test('what would become of a node without a service can be asked: its label, which stays now, would go', () => {
  const { queries, options, addNode, agentPod, servicePod, report, fate } = stage();
  addNode('n');
  agentPod({ uid: 'a' });
  servicePod();
  report('a');
  const keys = registryOf({ watchedServices: [], poolLabels: [] });
  const proposal = { services: [], keys, rules: undefined, poolLabelSet: () => undefined };
  const without = new WhatIf(options, proposal, { monotonicMs: 0, wallMs: 0 });
  const evaluation = queries.explain('n');
  const label = { kind: 'label', key: 'gitpod.io/ws-daemon_ready_ns_default' };
  expect(evaluation && without.changesOn(evaluation)).toMatchObject([{ ...label, from: 'true', to: undefined }]);
  expect(fate()).toBe('kept');
});

test('a node is looked at as soon as what others know of it has changed', () => {
  const told: string[] = [];
  const subscribers = { changed: (name: string) => told.push(name) };
  const { controller, addNode } = stage({ subscribers });
  addNode('n');
  addNode('other');
  told.length = 0;
  controller.changed('n', true);
  expect(told).toEqual(['n']);
});

test('a node that is gone is forgotten by those who follow, and a term that begins is told to them', () => {
  const told: string[] = [];
  const subscribers = {
    changed: (name: string) => told.push(`look ${name}`),
    gone: (name: string) => told.push(`forget ${name}`),
    restart: () => told.push('restart'),
  };
  const { controller, fleet, addNode } = stage({ subscribers });
  addNode('n');
  expect(told).toEqual(['look n']);
  controller.beginTerm();
  expect(told.splice(0)).toEqual(['look n', 'restart', 'look n']);
  fleet.nodeHandlers.onReplace([]);
  expect(told).toEqual(['forget n']);
});

test('a withdrawal says why, beside what the node has', async () => {
  const { queries, evaluated, addNode, servicePod, agentPod, report, clock } = stage();
  addNode('n');
  servicePod();
  agentPod({ uid: 'a' });
  report('a');
  await clock.advance(4000);
  expect(queries.explain('n')).toMatchObject({ plan: undefined, changes: [], quietMs: 4000 });
  report('a', { ready: false });
  expect(evaluated('n')?.readiness.get('ws-daemon')).toMatchObject({ state: 'not-ready', reason: 'tcp' });
  const facts = queries.explain('n');
  expect(facts).toMatchObject({ quietMs: 0, plan: { node: { name: 'n', uid: 'uid-n' } } });
  expect(facts?.plan?.withdrawal?.labels).toEqual(Object.keys(facts?.node.labels ?? {}));
});

test('keys that were written and stay are forgotten as time passes, without another write', async () => {
  const { skipped, pass } = stage();
  const key = { kind: 'label', key: 'k', wanted: 'v', held: true, keepsAway: false } as const;
  skipped.wrote({ name: 'n', uid: 'uid-n' }, [key]);
  await pass(59);
  expect(skipped.remembered).toBe(1);
  await pass(1);
  expect(skipped.remembered).toBe(0);
});

test('an agent that has just started takes nothing from its node before it was told what to probe', async () => {
  const service = serviceOf('ws-daemon', {
    checks: [podsCheck('ws-daemon'), probeCheck('ws-daemon', { spec: { kind: 'tcp' }, port: 8080, host: 'Loopback' })],
    origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
  });
  const { fleet, evaluated, addNode, servicePod, agentPod, report, pass } = stage({ services: () => [service] });
  const state = () => evaluated('n')?.readiness.get('ws-daemon')?.state;
  addNode('n');
  servicePod();
  agentPod({ uid: 'before' });
  report('before');
  await pass(60, () => report('before'));
  expect(state()).toBe('ready');
  agentPod({ uid: 'after', ageSeconds: 0 });
  const said = { node: 'n', boot: 'after', devices: [], facts: {}, digest: 'none', services: [] };
  const identity = { node: 'n', nodeUid: 'uid-n', pod: { name: 'after', uid: 'after' } };
  const { reply } = fleet.accept({ ...said, sequence: 1 }, identity);
  expect(reply.services?.map(({ name }) => name)).toEqual(['ws-daemon']);
  expect(state()).toBe('unknown');
  // One that goes on without a word of it does not know how to probe it.
  let sequence = 1;
  await pass(40, () => void fleet.accept({ ...said, sequence: ++sequence }, identity));
  expect(state()).toBe('not-ready');
});

test('a label that is left to another writer is skipped without a write, and subscribers are told', async () => {
  const implied = new Map([['tier', { value: 'gold', reason: 'a rule' }]]);
  const rules = () => rulesOf(['tier'], { implied: Object.fromEntries(implied) });
  const pending: (boolean | undefined)[] = [];
  const subscribers = {
    changed: (name: string) => pending.push(isPending(name)),
  };
  let remainingMs = 0;
  const isPending = (name: string) => {
    const decision = evaluator.decide(name);
    return decision && queries.planOf(decision) !== undefined;
  };
  const { skipped, evaluator, queries, addNode, agentPod, servicePod, report, clock } = stage({
    ...{ subscribers, rules, fence: { remainingMs: () => remainingMs } },
  });
  agentPod({ uid: 'a' });
  servicePod();
  addNode('n');
  report('a');
  remainingMs = 10_000;
  addNode('n', { more: { tier: 'mine' } });
  expect(pending.at(-1)).toBe(true);
  await clock.advance(0);
  expect(skipped.keysFor('n')).toMatchObject([{ key: 'tier', cause: 'foreign', wanted: 'gold' }]);
  expect(pending.at(-1)).toBe(false);
  addNode('n');
  expect(isPending('n')).toBe(true);
  await clock.advance(0);
  expect(evaluator.decide('n')?.leftOut).toEqual(new Set());
});

test('once the pods of a namespace are listed, every node is evaluated', () => {
  const told: string[] = [];
  const subscribers = { changed: (name: string) => told.push(`look ${name}`) };
  const { fleet, addNode } = stage({ subscribers: subscribers });
  addNode('n');
  told.length = 0;
  fleet.servicePods.handlers('other').onReplace([]);
  expect(told).toEqual(['look n']);
});
