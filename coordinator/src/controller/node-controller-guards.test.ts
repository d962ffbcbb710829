import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { IMPLIED_LABELS_ANNOTATION, MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { describe, expect, test } from 'vitest';
import { AT_ONCE, SETTLE_MS } from '../decide/guards/blast-radius.ts';
import type { Rules } from '../decide/labelers/implied-labels.ts';
import { rulesOf } from '../decide/labelers/rules.test-fixtures.ts';
import { serviceOf } from '../model/services.test-fixtures.ts';
import { listPoolLabels } from '../state/fleet.test-fixtures.ts';
import type { ObservedPoolLabelSet } from '../state/pool-label-sets.ts';
import { serviceList } from '../state/probe-targets.ts';
import { WRITES_MAX } from '../write/write-gate.ts';
import { carryOut, stage } from './node-controller.test-fixtures.ts';

const POOL = 'example.com/pool';
const NAMES = Array.from({ length: 12 }, (_, index) => `n${index}`);

type Fleet = ReturnType<typeof stage>['fleet'];

/** More nodes than may be written at once, unless they are urgent. */
const MANY = Array.from({ length: WRITES_MAX + 4 }, (_, index) => `many${index}`);

/** Nodes with the label `tier`, which an annotation lists as ours. */
function listed(fleet: Fleet, list: string, names: readonly string[] = NAMES): void {
  for (const name of names) {
    const labels = { tier: 'gold', [POOL]: 'gold' };
    const fieldsV1 = { 'f:metadata': { 'f:labels': { 'f:tier': {} } } };
    const managedFields = [{ manager: 'rollcall', operation: 'Apply' as const, fieldsV1 }];
    const annotations = { [list]: '["tier"]' };
    const metadata = { name, uid: name, resourceVersion: '1', labels, annotations, managedFields };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata }));
  }
}

describe('a label that a rule gave', () => {
  /** The rules were for these labels, and are for others; how many nodes keep the label for now. */
  function heldAfter(before: readonly string[], now: readonly string[]): number {
    let rules = rulesOf(before);
    const { evaluator, controller, fleet } = stage({ rules: () => rules });
    const { labels } = rules;
    rules = rulesOf(now);
    controller.rulesChanged(labels, rules.labels);
    listed(fleet, IMPLIED_LABELS_ANNOTATION);
    for (const name of NAMES) carryOut(controller, name);
    return evaluator.guards().reduce((sum, { nodes }) => sum + nodes, 0);
  }

  test('goes at once where its rule alone is gone', () => {
    expect(heldAfter(['tier', 'other'], ['other'])).toBe(0);
  });

  test('leaves ten nodes at first where all rules are gone, or several', () => {
    expect(heldAfter(['tier', 'other'], [])).toBe(2);
    expect(heldAfter(['tier'], [])).toBe(2);
    expect(heldAfter(['tier', 'other', 'third'], ['other'])).toBe(2);
    expect(heldAfter(['other'], ['other'])).toBe(2);
  });
});

test('a label that a rule builds on a label of an emptied rule stays as long as that one', () => {
  let isEmptied = false;
  const rules: Rules = {
    ...rulesOf(['tier', 'other', 'derived']),
    evaluate: (labels) => {
      const hasTier = !isEmptied || labels['tier'] !== undefined;
      const implied = hasTier ? ['derived', ...(isEmptied ? [] : ['tier'])] : [];
      return { implied: new Map(implied.map((key) => [key, { value: 'gold', reason: 'r' }])), unknown: new Map() };
    },
  };
  const { controller, evaluator, fleet } = stage({ rules: () => rules });
  listed(fleet, IMPLIED_LABELS_ANNOTATION);
  for (const name of NAMES) expect(evaluator.decide(name)?.intent.get('label:derived')?.stance).toBe('present');
  isEmptied = true;
  // Both files were emptied.
  const emptied = new Map([...rules.labels].map(([key]) => [key, key === 'derived' ? 'lines of derived' : '']));
  controller.rulesChanged(rules.labels, emptied);
  const stances = NAMES.map((name) => {
    const intent = evaluator.decide(name)?.intent;
    carryOut(controller, name);
    return [intent?.get('label:tier')?.stance, intent?.get('label:derived')?.stance];
  });
  const leaves = NAMES.slice(0, AT_ONCE).map(() => ['absent', undefined]);
  expect(stances).toEqual([...leaves, ['keep', 'present'], ['keep', 'present']]);
});

test('a rule that has gone long ago is not taken for one that goes now', async () => {
  let rules = rulesOf(['first', 'tier', 'other']);
  const { evaluator, controller, fleet, clock } = stage({ rules: () => rules });
  for (const gone of ['first', 'tier']) {
    await clock.advance(60_001);
    const { labels } = rules;
    rules = rulesOf([...labels.keys()].filter((label) => label !== gone));
    controller.rulesChanged(labels, rules.labels);
  }
  listed(fleet, IMPLIED_LABELS_ANNOTATION);
  for (const name of NAMES) carryOut(controller, name);
  expect(evaluator.guards()).toEqual([]);
});

describe('a label that a pool asked for', () => {
  const KIND = 'NodePoolLabels' as const;
  const set = (pool: string, labels: Record<string, string>, generation = 1): ObservedPoolLabelSet => {
    const base = { kind: KIND, uid: pool, name: pool, namespace: 'x', createdAt: '', pool, status: undefined };
    return { ...base, generation, labels };
  };

  function pooled(change: object = {}) {
    const looked: string[] = [];
    const subscribers = { changed: (name: string) => looked.push(name) };
    const staged = stage({ subscribers, ...change } as never);
    const { fleet, evaluator, controller } = staged;
    listPoolLabels(fleet, [set('gold', { tier: 'gold' }), set('silver', {})]);
    listed(fleet, MANAGED_LABELS_ANNOTATION);
    const held = () => {
      for (const name of NAMES) carryOut(controller, name);
      return evaluator.guards();
    };
    const leaving = () => NAMES.filter((name) => carryOut(controller, name)?.withdrawal?.labels.includes('tier'));
    return { ...staged, held, leaving, looked };
  }

  test('goes from ten nodes where the set of the pool alone was changed, and half a second later from all', async () => {
    const { fleet, held, leaving, looked, clock } = pooled();
    await clock.advance(60_001);
    fleet.poolLabelSets.handlers(KIND).onUpsert(set('gold', {}, 2));
    expect(leaving()).toEqual(NAMES.slice(0, 10));
    expect(held()).toEqual([]);
    looked.length = 0;
    await clock.advance(499);
    expect(looked).toEqual([]);
    await clock.advance(1);
    expect(looked).toEqual(NAMES.slice(10));
    expect(leaving()).toEqual(NAMES);
  });

  test('leaves the others within half a second by a timer that comes early, too', async () => {
    const clock = new FakeClock();
    const early = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms: number, callback: () => void) => clock.after(ms > 1 ? ms - 1 : ms, callback),
    };
    const { fleet, leaving, looked } = pooled({ clock: early });
    await clock.advance(60_001);
    fleet.poolLabelSets.handlers(KIND).onUpsert(set('gold', {}, 2));
    leaving();
    looked.length = 0;
    await clock.advance(SETTLE_MS);
    expect(looked).toEqual(NAMES.slice(AT_ONCE));
  });

  test('takes one timer, however many sets change', () => {
    const { fleet, clock } = pooled();
    const before = clock.pendingTimers;
    for (const generation of [2, 3, 4]) fleet.poolLabelSets.handlers(KIND).onUpsert(set('gold', {}, generation));
    expect(clock.pendingTimers).toBe(before);
  });

  test('leaves the others in their turn, and not before what is urgent', async () => {
    const { fleet, clock, writer, controller } = pooled();
    const names = [...NAMES.slice(0, AT_ONCE), ...MANY];
    listed(fleet, MANAGED_LABELS_ANNOTATION, MANY);
    await clock.advance(60_001);
    // That no agent was heard is known by now.
    controller.tick();
    fleet.poolLabelSets.handlers(KIND).onUpsert(set('gold', {}, 2));
    for (const name of names) carryOut(controller, name);
    await clock.advance(SETTLE_MS - 1);
    // Not the timer, after which some would be worked on already.
    clock.standStill(1);
    controller.tick();
    // Where the seats are filled; urgent nodes have more of them.
    await Promise.resolve();
    expect(writer.waiting).toBe(MANY.length - WRITES_MAX);
  });

  test('stays on the others where another set follows within half a second', async () => {
    const { fleet, held, leaving, looked, clock } = pooled();
    await clock.advance(60_001);
    fleet.poolLabelSets.handlers(KIND).onDelete(set('gold', {}));
    expect(leaving()).toHaveLength(10);
    await clock.advance(300);
    fleet.poolLabelSets.handlers(KIND).onDelete(set('silver', {}));
    looked.length = 0;
    await clock.advance(10_000);
    expect(looked).toEqual([]);
    expect(leaving()).toHaveLength(10);
    expect(held()).toEqual([{ subject: 'configuration', of: 'tier', nodes: 2 }]);
  });

  test('leaves ten nodes at first where another was changed as well, and the others a minute later', async () => {
    const { fleet, held, clock, controller } = pooled();
    await clock.advance(60_001);
    fleet.poolLabelSets.handlers(KIND).onUpsert(set('silver', { a: 'b' }, 2));
    fleet.poolLabelSets.handlers(KIND).onUpsert(set('gold', {}, 2));
    expect(held()).toEqual([{ subject: 'configuration', of: 'tier', nodes: 2 }]);
    await clock.advance(60_000);
    controller.tick();
    expect(held()).toEqual([]);
  });

  /** Nodes of other pools have the label as well. */
  function widespread() {
    const staged = pooled();
    for (const name of NAMES.slice(0, AT_ONCE)) {
      for (let copy = 0; copy < 6; copy += 1) staged.addNode(`${name}-${copy}`, { more: { tier: 'gold' } });
    }
    return staged;
  }

  test('leaves up to 20 % of its nodes within a second or so, by whatever it goes', async () => {
    const { fleet, leaving, held, controller, clock, looked } = widespread();
    await clock.advance(60_001);
    listPoolLabels(fleet);
    expect(leaving()).toEqual(NAMES.slice(0, AT_ONCE));
    expect(held()).toEqual([]);
    await clock.advance(SETTLE_MS);
    looked.length = 0;
    controller.tick();
    expect(looked).toEqual(expect.arrayContaining(NAMES.slice(AT_ONCE)));
    expect(leaving()).toEqual(NAMES);
  });

  test('keeps what a rule builds on it as long as it stays', async () => {
    const derived = (labels: Readonly<Record<string, string>>) =>
      new Map(labels['tier'] === undefined ? [] : [['derived', { value: 'true', reason: 'tier' }]]);
    const rules: Rules = {
      ...rulesOf(['derived']),
      evaluate: (labels) => ({ implied: derived(labels), unknown: new Map() }),
    };
    const { fleet, clock, evaluator, controller } = pooled({ rules: () => rules });
    await clock.advance(60_001);
    listPoolLabels(fleet);
    const stances = NAMES.map((name) => {
      const intent = evaluator.decide(name)?.intent;
      carryOut(controller, name);
      return [intent?.get('label:tier')?.stance, intent?.get('label:derived')?.stance];
    });
    expect(stances.slice(AT_ONCE)).toEqual(NAMES.slice(AT_ONCE).map(() => ['keep', 'present']));
    expect(stances.slice(0, AT_ONCE)).toEqual(NAMES.slice(0, AT_ONCE).map(() => ['absent', undefined]));
  });

  test('is no longer held on a node that is gone, nor in the next term', async () => {
    const { fleet, held, clock, evaluator, controller } = pooled();
    await clock.advance(60_001);
    listPoolLabels(fleet);
    expect(held()).toHaveLength(1);
    controller.beginTerm();
    expect(evaluator.guards()).toEqual([]);
    expect(held()).toHaveLength(1);
    fleet.nodeHandlers.onReplace([]);
    expect(evaluator.guards()).toEqual([]);
  });
});

describe('agents that were replaced, and no longer see a service whose pods are Ready', () => {
  const nodes = NAMES.slice(0, 4);

  function replaced(services = [serviceOf()]) {
    const looked: string[] = [];
    const subscribers = { changed: (name: string) => looked.push(name) };
    const staged = stage({ subscribers, services: () => services } as never);
    const { fleet, evaluated, addNode, servicePod, agentPod } = staged;
    let sequence = 0;
    const report = (node: string, version: string, ready: boolean) => {
      sequence += 1;
      const pods = fleet.servicePods.on(node);
      const digest = serviceList([serviceOf()], pods).services[0]?.digest ?? '';
      const services = [{ name: 'ws-daemon', ready, since: '2026-01-01T00:00:00Z', evidence: 'tcp', digest }];
      const content = { services, devices: [], facts: {}, version, digest: `${version} ${ready}` };
      const identity = { node, nodeUid: `uid-${node}`, pod: { name: node, uid: node }, issuedAtSeconds: 1 };
      fleet.accept({ node, boot: `${node} ${version}`, sequence, ...content }, identity);
    };
    const replace = () => {
      for (const name of nodes) report(name, '1', true);
      fleet.tick();
      for (const name of nodes) report(name, '2', true);
      for (const name of nodes) report(name, '2', false);
    };
    for (const name of nodes) {
      addNode(name);
      servicePod(name);
      agentPod({ uid: name, node: name });
    }
    replace();
    const states = () => nodes.map((name) => evaluated(name)?.readiness.get('ws-daemon')?.state);
    return { ...staged, replace, report, states, looked };
  }

  test('cost three nodes the service, and no fourth one', () => {
    const { evaluator, states } = replaced();
    expect(states()).toEqual(['not-ready', 'not-ready', 'not-ready', 'unknown']);
    expect(evaluator.guards()).toEqual([{ subject: 'agent-version', of: 'ws-daemon', nodes: 1 }]);
  });

  test('are no guard that acts where the service is a dry run: no Event and no alert is about it', () => {
    const { publish, ...service } = serviceOf();
    const { evaluator, states } = replaced([{ ...service, publish: {}, dryRun: publish }]);
    expect(states()).toEqual(['not-ready', 'not-ready', 'not-ready', 'unknown']);
    expect(evaluator.guards()).toEqual([]);
  });

  test('are believed after ten minutes, and their nodes are looked at then', async () => {
    const { states, clock, report, controller, looked } = replaced();
    for (let minute = 0; minute < 10; minute += 0.5) {
      await clock.advance(30_000);
      for (const name of nodes) report(name, '2', false);
    }
    looked.length = 0;
    controller.tick();
    expect(looked).toEqual(['n3']);
    expect(states()).toEqual(Array(4).fill('not-ready'));
  });

  test('are forgotten with their nodes, and with the term', () => {
    const first = replaced();
    first.fleet.nodeHandlers.onReplace([]);
    expect(first.evaluator.guards()).toEqual([]);
    const second = replaced();
    second.controller.beginTerm();
    expect(second.evaluator.guards()).toEqual([]);
  });

  test('are doubted in the next term as in the first', () => {
    const { evaluator, controller, replace } = replaced();
    const before = evaluator.guards();
    controller.beginTerm();
    replace();
    expect(evaluator.guards()).toEqual(before);
  });
});

describe('a service that comes and goes', () => {
  function falling() {
    const told: string[] = [];
    const looked: string[] = [];
    const staged = stage({
      subscribers: {
        changed: (name) => looked.push(name),
        happened: (all) => {
          for (const each of all) if (each.kind === 'held-back') told.push(`${each.node.name} ${each.service.name}`);
        },
      },
    });
    const { addNode, servicePod, agentPod, report } = staged;
    addNode('n');
    servicePod();
    agentPod({ uid: 'a' });
    for (let count = 0; count < 4; count += 1) {
      report('a', { ready: true });
      report('a', { ready: false });
    }
    report('a', { ready: true });
    return { ...staged, told, looked };
  }

  test('is told when it is held back, counted, and looked at when that is over', async () => {
    const { evaluator, evaluated, told, looked, pass, report } = falling();
    expect([told, evaluator.heldBackCount]).toEqual([['n ws-daemon'], 1]);
    await pass(9);
    expect(evaluated('n')?.readiness.get('ws-daemon')?.state).toBe('not-ready');
    report('a', { ready: true });
    looked.length = 0;
    await pass(1);
    expect(looked).toEqual(['n']);
    expect([evaluator.heldBackCount, evaluated('n')?.readiness.get('ws-daemon')?.state]).toEqual([0, 'ready']);
  });

  test('is looked at in its turn when that is over, and not before what is urgent', async () => {
    const { writer, controller, addNode, servicePod, agentPod, report, clock, pass } = stage();
    const say = (ready: boolean) => {
      for (const node of MANY) report(node, { node, ready });
    };
    for (const node of MANY) {
      addNode(node);
      servicePod(node);
      agentPod({ uid: node, node });
    }
    for (let count = 0; count < 4; count += 1) {
      say(true);
      say(false);
    }
    say(true);
    await pass(9);
    say(true);
    await clock.advance(1000);
    controller.tick();
    // Where the seats are filled; urgent nodes have more of them.
    await Promise.resolve();
    expect(writer.waiting).toBe(MANY.length - WRITES_MAX);
  });

  test('is not held back any more in the next term', () => {
    const { evaluator, controller } = falling();
    controller.beginTerm();
    expect(evaluator.heldBackCount).toBe(0);
  });
});

test('each service is counted by what it is on the nodes that are there', () => {
  const service = serviceOf();
  const { evaluator, addNode, servicePod, agentPod, report, fleet } = stage({ services: () => [service] });
  for (const name of ['n1', 'n2']) {
    addNode(name);
    servicePod(name);
    agentPod({ uid: name, node: name });
    report(name, { node: name, ready: name === 'n1' });
  }
  expect(evaluator.tally.count('ws-daemon')).toEqual({ ready: 1, 'not-ready': 1, unknown: 0 });
  fleet.nodeHandlers.onReplace([]);
  expect(evaluator.tally.count('ws-daemon')).toEqual({ ready: 0, 'not-ready': 0, unknown: 0 });
});
