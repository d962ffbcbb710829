import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { DEFAULT_SCORE_WEIGHTS } from '@rollcall/coordinator/model/score-weights.ts';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { ExtenderService } from './extender-service.ts';
import type { SchedulableNode } from './schedulable-node.ts';
import { busy, HEADLESS, LIMITS, node, REGULAR, service, workspacePod } from './scheduler.test-fixtures.ts';

const pod = workspacePod({ id: 'p' });
const stranger = workspacePod({ id: 's', workspace: undefined });

let clock: FakeClock;
let known: Map<string, SchedulableNode>;
let asked: string[];
let extenderService: ExtenderService;

beforeEach(() => {
  clock = new FakeClock();
  known = new Map(['a', 'b', 'c'].map((name) => [name, node({ name })]));
  asked = [];
  extenderService = new ExtenderService({
    clock,
    limits: LIMITS,
    weights: DEFAULT_SCORE_WEIGHTS,
    namespace: 'default',
    node(name) {
      asked.push(name);
      return known.get(name);
    },
  });
});

/** What comes of the explanation in the end. */
function explained<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

function change(name: string, some: Partial<SchedulableNode>): void {
  known.set(name, node({ name, ...some }));
  extenderService.changed(name);
}

function rules(names = ['a', 'b', 'c'], who = pod) {
  return extenderService.filter(who, names).map((verdict) => verdict?.rule);
}

test('a pod that asks for scores again is not counted beside itself', () => {
  const spread = { ...DEFAULT_SCORE_WEIGHTS };
  for (const term of Object.keys(spread) as (keyof typeof spread)[]) spread[term] = term === 'spread' ? 1 : 0;
  const spreading = new ExtenderService({
    ...{ clock, limits: LIMITS, weights: spread, namespace: 'default' },
    node: (name) => known.get(name),
  });
  expect(spreading.prioritize(pod, ['a', 'b'])).toEqual([10, 9]);
  expect(spreading.prioritize(pod, ['a', 'b'])).toEqual([10, 9]);
  expect(spreading.prioritize(workspacePod({ id: 'q' }), ['a', 'b'])).toEqual([6, 10]);
});

describe('filter', () => {
  test('answers node by node, in their order, duplicates and all', () => {
    change('b', busy(10));
    expect(rules(['c', 'b', 'a', 'b', 'nowhere'])).toEqual([undefined, 'room', undefined, 'room', 'unknown-node']);
  });

  test('lets pods that are no workspaces pass, also on unknown nodes', () => {
    expect(rules(['a', 'nowhere'], stranger)).toEqual([undefined, undefined]);
  });

  test('looks a node up once until it is told that it has changed', () => {
    rules();
    rules();
    expect(asked).toEqual(['a', 'b', 'c']);
    known.set('a', node({ name: 'a', deleting: true }));
    expect(rules(['a'])).toEqual([undefined]);
    extenderService.changed('a');
    expect(rules(['a'])).toEqual(['deleting']);
  });

  test('asks again for a node that was not known', () => {
    rules(['new']);
    known.set('new', node({ name: 'new' }));
    expect(rules(['new'])).toEqual([undefined]);
  });
});

test('a pod of which nothing may be kept leaves nothing behind, however often a client asks', () => {
  const own = { clock, limits: LIMITS, weights: DEFAULT_SCORE_WEIGHTS, namespace: 'default' };
  extenderService = new ExtenderService({ ...own, node: (name) => known.get(name), mayKeep: (id) => id === 'p' });
  for (let index = 0; index < 100; index += 1) {
    const madeUp = workspacePod({ id: `made up ${index}` });
    expect(rules(['a'], madeUp)).toEqual([undefined]);
    extenderService.prioritize(madeUp, ['a', 'b', 'c']);
  }
  change('a', busy(0, 3));
  expect(rules(['a'], workspacePod({ id: 'made up' }))).toEqual(['starting']);
  change('a', busy(0, 2));
  expect(extenderService.hintsDue()).toEqual([]);
  expect(rules(['a'], workspacePod({ id: 'made up' }))).toEqual([undefined]);
  expect(rules(['a'])).toEqual([undefined]);
  expect(rules(['a'], workspacePod({ id: 'another' }))).toEqual(['starting']);
  expect(rules()).toEqual([undefined, undefined, undefined]);
});

describe('what was answered and is not yet seen', () => {
  test('counts on the best node, so that a burst goes on elsewhere', () => {
    const best: string[] = [];
    for (let index = 0; index < 9; index += 1) {
      const who = workspacePod({ id: `p${index}` });
      const feasible = ['a', 'b', 'c'].filter((_name, at) => !extenderService.filter(who, ['a', 'b', 'c'])[at]);
      if (feasible.length === 1) best.push(feasible[0] ?? '');
      else best.push(feasible[extenderService.prioritize(who, feasible).indexOf(10)] ?? '');
    }
    expect(best).toEqual(['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c']);
    expect(rules()).toEqual(['starting', 'starting', 'starting']);
  });

  test('is dropped when the pod is seen on a node, is gone, or asks again', () => {
    change('a', busy(0, 2));
    rules(['a']);
    expect(rules(['a'], workspacePod({ id: 'q' }))).toEqual(['starting']);
    extenderService.settled('p');
    expect(rules(['a'], workspacePod({ id: 'q' }))).toEqual([undefined]);
    expect(rules(['a'], workspacePod({ id: 'q' }))).toEqual([undefined]);
  });

  test('holds while binding takes its time, but not for ever', async () => {
    change('a', busy(0, 2));
    rules(['a']);
    await clock.advance(599_000);
    expect(rules(['a'], workspacePod({ id: 'q' }))).toEqual(['starting']);
    await clock.advance(1_000);
    expect(rules(['a'], workspacePod({ id: 'q' }))).toEqual([undefined]);
  });

  test('holds when everything that is known of nodes may have changed', () => {
    change('a', busy(0, 2));
    rules(['a']);
    known.set('b', node({ name: 'b', deleting: true }));
    extenderService.allChanged();
    expect(rules(['a', 'b'], workspacePod({ id: 'q' }))).toEqual(['starting', 'deleting']);
  });

  test('is made of the filter, as kube-scheduler asks for no scores where one node passes', () => {
    change('a', busy(0, 2));
    expect(extenderService.filter(pod, ['a', 'b']).every((verdict) => !verdict)).toBe(true);
    expect(rules(['a', 'b'], workspacePod({ id: 'q' }))).toEqual(['starting', undefined]);
  });

  test('never comes from other pods', () => {
    for (let index = 0; index < 20; index += 1) rules(['a'], workspacePod({ id: `${index}`, workspace: undefined }));
    expect(rules(['a'])).toEqual([undefined]);
  });
});

describe('prioritize', () => {
  test('scores unknown nodes 0, and every node 0 for pods that are no workspaces', () => {
    expect(extenderService.prioritize(pod, ['nowhere', 'a'])).toEqual([0, 10]);
    expect(extenderService.prioritize(stranger, ['a', 'b'])).toEqual([0, 0]);
    expect(extenderService.prioritize(pod, [])).toEqual([]);
  });
});

describe('the predecessor’s predicate', () => {
  test('uses the labels in the question, and the known labels where it has none', () => {
    const [withLabels, byName, unknown] = extenderService.predicate(pod, [
      { name: 'a', labels: {} },
      { name: 'a', labels: undefined },
      { name: 'nowhere', labels: undefined },
    ]);
    expect(withLabels?.message).toBe('cannot schedule pod ws-1 in node a');
    expect(byName?.message).toContain('does not have the required label');
    expect(unknown?.message).toBe('cannot schedule pod ws-1 in node nowhere');
    expect(extenderService.predicate(stranger, [{ name: 'nowhere', labels: undefined }])).toEqual([undefined]);
  });
});

describe('a pod that found no node', () => {
  test('gets a hint once at each node that would take it by now', () => {
    for (const name of known.keys()) change(name, busy(0, 3));
    rules();
    expect(extenderService.hintsDue()).toEqual([]);
    change('b', busy(1, 2));
    expect(extenderService.hintsDue()).toEqual(['b']);
    expect(extenderService.hintsDue()).toEqual([]);
    change('a', {});
    expect(extenderService.hintsDue()).toEqual(['a']);
  });

  test('gets a hint when the pods are gone that were on their way', () => {
    for (const name of ['a', 'b']) change(name, busy(0, 2));
    rules(['a'], workspacePod({ id: 'earlier' }));
    rules(['b'], workspacePod({ id: 'earlier too' }));
    expect(rules(['a', 'b'])).toEqual(['starting', 'starting']);
    expect(extenderService.hintsDue()).toEqual([]);
    extenderService.settled('earlier');
    extenderService.settled('earlier too');
    expect(extenderService.hintsDue()).toEqual(['a', 'b']);
  });

  test('gets a hint when time alone ended the reason', async () => {
    const workspaces = { total: 3, startingUntilMs: [0, 0, 0].map(() => clock.now() + 1_000) };
    change('a', { workspaces: { ...workspaces, asked: { cpu: 3, memory: 3 } } });
    expect(rules(['a'])).toEqual(['starting']);
    expect(extenderService.hintsDue()).toEqual([]);
    await clock.advance(1_000);
    expect(extenderService.hintsDue()).toEqual(['a']);
  });

  test('gets a hint about a node that this replica learned of later than the scheduler', () => {
    rules(['new']);
    expect(extenderService.hintsDue()).toEqual([]);
    known.set('new', node({ name: 'new' }));
    expect(extenderService.hintsDue()).toEqual(['new']);
  });

  test('gets none for a node that is for other kinds of pods', () => {
    change('a', { labels: { [HEADLESS]: '' } });
    expect(rules(['a'])).toEqual(['kind']);
    expect(extenderService.hintsDue()).toEqual([]);
    change('a', {});
    expect(extenderService.hintsDue()).toEqual(['a']);
  });

  test('gets no more than ten hints at once, which are enough', () => {
    const many = Array.from({ length: 15 }, (_, index) => `n${index}`);
    extenderService.refused('any', many);
    for (const name of many) known.set(name, node({ name }));
    expect(extenderService.hintsDue()).toEqual(many.slice(0, 10));
    expect(extenderService.hintsDue()).toEqual([]);
  });

  test('gets none when it found a node in the same answer, or when no pod waits by now', () => {
    change('a', busy(0, 3));
    expect(rules(['a', 'b'])).toEqual(['starting', undefined]);
    change('a', {});
    expect(extenderService.hintsDue()).toEqual([]);
    change('a', busy(0, 3));
    rules(['a']);
    extenderService.forgetRefusals();
    change('a', {});
    expect(extenderService.hintsDue()).toEqual([]);
  });
});

describe('two schedulers', () => {
  const q = workspacePod({ id: 'q' });

  test('that ask in turns are not given the same place', () => {
    for (const name of ['a', 'b']) change(name, busy(0, 2));
    expect(rules(['a', 'b'])).toEqual([undefined, undefined]);
    expect(rules(['a', 'b'], q)).toEqual(['starting', undefined]);
    expect(extenderService.prioritize(pod, ['a', 'b'])).toEqual([10, 0]);
    expect(extenderService.prioritize(q, ['b'])).toEqual([10]);
  });

  test('get no score for a node that would be refused by now', () => {
    change('a', busy(0, 3));
    expect(extenderService.prioritize(pod, ['a', 'b'])).toEqual([0, 10]);
    expect(extenderService.prioritize(pod, ['a'])).toEqual([0]);
  });
});

describe('preemption', () => {
  const preempt = (who = pod) => {
    const victims = new Map(['a', 'b', 'nowhere'].map((name) => [name, new Set([`${name}-victim`])]));
    return extenderService.preempt(who, victims);
  };

  test('goes on where nothing else speaks against the node', () => {
    expect(preempt()).toEqual(['a', 'b']);
    change('a', busy(0, 3));
    change('b', { services: [service({ state: 'not-ready' })] });
    expect(preempt()).toEqual([]);
    expect(preempt(stranger)).toEqual(['a', 'b', 'nowhere']);
  });

  test('goes on where the pods that go make room', () => {
    const asked: unknown[] = [];
    const fresh = new ExtenderService({
      ...{ clock, limits: LIMITS, weights: DEFAULT_SCORE_WEIGHTS, namespace: 'default' },
      node(name, without) {
        asked.push([name, without]);
        return node({ name, ...busy(without ? 9 : 10) });
      },
    });
    expect(fresh.filter(pod, ['a']).map((verdict) => verdict?.rule)).toEqual(['room']);
    expect(fresh.preempt(pod, [['a', new Set(['v'])]])).toEqual(['a']);
    expect(asked.at(-1)).toEqual(['a', new Set(['v'])]);
  });
});

test('a pod that kube-scheduler nominates for a node counts there', () => {
  change('a', busy(0, 2));
  extenderService.assume(pod, 'a');
  expect(rules(['a'], workspacePod({ id: 'q' }))).toEqual(['starting']);
});

test('explaining a pod changes nothing, and tells what the scheduler was told', () => {
  change('a', busy(0, 2));
  rules(['a']);
  const [first] = explained(extenderService.explain(pod, ['a'])).nodes;
  expect(first).toMatchObject({ name: 'a', passes: true, refusals: [], score: 10 });
  expect(explained(extenderService.explain(workspacePod({ id: 'q' }), ['a'])).nodes[0]).toMatchObject({
    passes: false,
    score: 0,
  });
  expect(rules(['a'], workspacePod({ id: 'q' }))).toEqual(['starting']);
});

test('in a burst no node ever gets more than may be on it, or start at once, by all that is known', () => {
  const nodeNames = ['a', 'b', 'c'];
  const step = fc.oneof(
    fc.record({ kind: fc.constant('ask' as const) }),
    fc.record({ kind: fc.constant('bind' as const) }),
    fc.record({ kind: fc.constant('run' as const), node: fc.constantFrom(...nodeNames) }),
    fc.record({ kind: fc.constant('stop' as const), node: fc.constantFrom(...nodeNames) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const truth = new Map(nodeNames.map((name) => [name, { running: 0, starting: 0 }]));
      const onTheWay: { id: string; node: string }[] = [];
      const fresh = new ExtenderService({
        clock: new FakeClock(),
        limits: LIMITS,
        weights: DEFAULT_SCORE_WEIGHTS,
        namespace: 'default',
        node: (name) =>
          node({
            name,
            labels: { [REGULAR]: '' },
            ...busy(truth.get(name)?.running ?? 0, truth.get(name)?.starting ?? 0),
          }),
      });
      for (const [index, one] of steps.entries()) {
        if (one.kind === 'ask') {
          const who = workspacePod({ id: `p${index}` });
          const verdicts = fresh.filter(who, nodeNames);
          const feasible = nodeNames.filter((_name, at) => !verdicts[at]);
          const scores = fresh.prioritize(who, feasible);
          const chosen = feasible[scores.indexOf(10)];
          if (chosen !== undefined) onTheWay.push({ id: who.id, node: chosen });
        } else if (one.kind === 'bind') {
          const bound = onTheWay.shift();
          const counts = truth.get(bound?.node ?? '');
          if (!bound || !counts) continue;
          counts.starting += 1;
          fresh.changed(bound.node);
          fresh.settled(bound.id);
        } else {
          const counts = truth.get(one.node);
          if (!counts) continue;
          if (one.kind === 'run' && counts.starting > 0) {
            counts.starting -= 1;
            counts.running += 1;
          }
          if (one.kind === 'stop' && counts.running > 0) counts.running -= 1;
          fresh.changed(one.node);
        }
        for (const [name, { running, starting }] of truth) {
          const coming = onTheWay.filter((pods) => pods.node === name).length;
          expect(starting + coming).toBeLessThanOrEqual(LIMITS.maxStartingPerNode);
          expect(running + starting + coming).toBeLessThanOrEqual(LIMITS.maxWorkspacesPerNode);
        }
      }
    }),
  );
});

describe('explain', () => {
  test('shows every reason with its evidence, the terms and what they weigh', () => {
    change('b', { services: [service({ state: 'not-ready', reason: 'tcp refused twice' })], ...busy(10) });
    const { pod: about, nodes } = explained(extenderService.explain(pod, ['a', 'b', 'nowhere']));
    expect(about).toMatchObject({ name: 'ws-1', workspace: 'regular' });
    expect(nodes.map(({ name, passes, score }) => [name, passes, score])).toEqual([
      ['a', true, 10],
      ['b', false, 0],
      ['nowhere', false, 0],
    ]);
    expect(nodes[1]?.refusals).toEqual([
      { rule: 'services', message: 'ws-daemon is not ready on the node', evidence: 'ws-daemon: tcp refused twice' },
      expect.objectContaining({ rule: 'room' }),
    ]);
    expect(nodes[1]?.terms).toContainEqual({
      term: 'density',
      value: 1,
      weight: 4,
      message: '10 of at most 10 pods are on the node or on their way to it',
    });
    expect(nodes[2]?.terms).toEqual([]);
  });

  test('says of other pods that they may go anywhere', () => {
    const { pod: about, nodes } = explained(extenderService.explain(stranger, ['a', 'nowhere']));
    expect(about.workspace).toBe('it is not a workspace');
    expect(nodes.every(({ passes, score }) => passes && score === 0)).toBe(true);
  });
});
