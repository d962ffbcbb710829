import { isMaxUnavailable } from '@rollcall/common/checks/node-service-spec.ts';
import { describe, expect, test } from 'vitest';
import { gated, podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { MaxUnavailable, Service } from '../model/services.ts';
import type { ObservedNode, Taint } from '../state/observed-node.ts';
import type { ObservedPod } from '../state/observed-pod.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';
import { pod, snapshot } from './readiness/readiness.test-fixtures.ts';
import { TaintBudget, withheldText } from './taint-budget.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const CREATED_MS = 1000;
const ADDED = { taints: { add: [TAINT], remove: [], observed: [] } };

function serviceWith(maxUnavailable?: MaxUnavailable): Service {
  return serviceOf('a', {
    checks: [podsCheck('a')],
    publish: { taint: { ...TAINT, ...(maxUnavailable === undefined ? {} : { maxUnavailable }) } },
    origin: { kind: 'object', uid: 'service', generation: 1, createdAtMs: CREATED_MS },
  });
}

type Given = Partial<Pick<EvaluatedNode, 'taints' | 'annotations' | 'createdAtMs' | 'pods'>> & {
  state?: 'ready' | 'not-ready';
};

/** A fleet of so many nodes that are older than the service, and not ready. */
function stage(count: number, service = serviceWith(), change: Record<string, Given> = {}) {
  const nodes = new Map<string, EvaluatedNode>();
  const set = (name: string, { state = 'not-ready', ...given }: Given) => {
    const readiness = new Map([[service.name, { state, reason: '', cause: 'evidence' as const, sinceMs: 0 }]]);
    const before = nodes.get(name) ?? snapshot({ name, taints: [], pods: [] });
    nodes.set(name, { ageMs: 0, ...before, ...given, readiness } as EvaluatedNode);
  };
  for (let at = 0; at < count; at += 1) set(`n${at}`, {});
  for (const [name, given] of Object.entries(change)) set(name, given);
  const options = {
    nodes: () => [...nodes.values()] as unknown as ObservedNode[],
    podsOn: (name: string) => nodes.get(name)?.pods ?? [],
    evicts: true,
  };
  let budget = new TaintBudget(options);
  const evaluated = (name: string) => nodes.get(name) as EvaluatedNode;
  /** Every node is observed, and written to where it may be. Returns those that have the taint. */
  const turn = ({ isRefused = (_name: string): boolean => false, of = [...nodes.keys()] } = {}) => {
    for (const name of of) budget.observe([service], evaluated(name));
    for (const name of of) {
      budget.observe([service], evaluated(name));
      const isDue = evaluated(name).readiness.get('a')?.state === 'not-ready';
      if (!isDue || budget.withheld(service, evaluated(name))) budget.rested([service], evaluated(name));
      else if (!evaluated(name).taints?.some((each) => each.effect === TAINT.effect)) {
        const ended = budget.reserve([service], name, ADDED);
        if (!isRefused(name)) set(name, { taints: [TAINT] });
        budget.observe([service], evaluated(name));
        ended();
      }
    }
    return tainted();
  };
  const tainted = () => [...nodes.values()].filter(({ taints }) => taints?.length).map(({ name }) => name);
  const failover = () => {
    budget = new TaintBudget(options);
  };
  const withheldOn = (name: string) => budget.withheld(service, evaluated(name));
  const waiting = () => budget.withholdingOf(service.name)?.waiting ?? [];
  return { set, turn, tainted, failover, withheldOn, waiting, service, budget: () => budget, nodes };
}

describe('of nodes that were open, a taint closes', () => {
  test.each<[MaxUnavailable | undefined, number, number]>([
    [undefined, 100, 20],
    [undefined, 5, 1],
    [undefined, 14, 2],
    [undefined, 1, 1],
    ['50%', 3, 1],
    ['100%', 7, 7],
    [3, 100, 3],
    [9, 2, 2],
  ])('with maxUnavailable %s and %i nodes: %i', (maxUnavailable, count, most) => {
    const { turn, waiting, failover } = stage(count, serviceWith(maxUnavailable));
    for (let round = 0; round < 3; round += 1) {
      expect(turn()).toHaveLength(most);
      expect(waiting()).toHaveLength(count - most);
      failover();
    }
  });

  test('others when the service is ready on the first, in the order in which they came to wait', () => {
    const { set, turn, budget } = stage(10, serviceWith(2));
    expect(turn()).toEqual(['n0', 'n1']);
    expect([...budget().takeWaiting()]).toEqual([]);
    set('n0', { state: 'ready', taints: [] });
    turn({ of: ['n0'] });
    expect([...budget().takeWaiting()]).toEqual(['n2']);
    expect(turn()).toEqual(['n1', 'n2']);
  });

  test('no more, however many requests are in flight, and a refused one takes no place', () => {
    const { turn, service, budget, nodes } = stage(10);
    const [first, second, third] = [...nodes.values()] as EvaluatedNode[];
    if (!first || !second || !third) expect.unreachable();
    for (const node of nodes.values()) budget().observe([service], node);
    const ended = [first, second].map(({ name }) => budget().reserve([service], name, ADDED));
    expect(budget().withheld(service, third)?.stance).toBe('absent');
    for (const end of ended) end();
    expect(budget().withheld(service, third)).toBeUndefined();
    expect(turn({ isRefused: (name) => name === 'n0' })).toEqual(['n1', 'n2']);
  });

  test('no fewer while requests to younger ones are in flight, or were not answered', () => {
    const { turn, service, budget, nodes } = stage(1, serviceWith(1), { young: { createdAtMs: CREATED_MS + 1 } });
    for (const node of nodes.values()) budget().observe([service], node);
    budget().reserve([service], 'young', ADDED)(false);
    expect(turn({ of: ['n0'] })).toEqual(['n0']);
  });

  test('those among the younger ones that are older than the time since which the service is in force', () => {
    const { origin, ...others } = serviceWith(1);
    const since = (inForceSinceMs: number) => ({ ...others, origin: { ...origin, inForceSinceMs } }) as Service;
    const young = { y0: { createdAtMs: 2000 }, y1: { createdAtMs: 3000 }, y2: { createdAtMs: 4000 } };
    expect(stage(0, since(3000), young).turn()).toEqual(['y0', 'y2']);
    expect(stage(0, since(Number.POSITIVE_INFINITY), young).turn()).toEqual(['y0']);
  });
  test('none of the younger ones, which are closed until the service was ready there, and have a budget then', () => {
    const note = { 'rollcall.dev/services-started': '{"node":"u","services":{"a":"service"}}' };
    const young = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`y${at}`, { createdAtMs: CREATED_MS + 1 }]));
    const { turn, set, withheldOn } = stage(5, serviceWith(), young);
    expect(turn()).toEqual(['n0', ...Object.keys(young)]);
    set('y0', { annotations: note, taints: [] });
    expect(turn()).not.toContain('y0');
    expect(withheldOn('y0')?.reason).toContain('1 of 6 nodes are closed');
    // A note of another Node, or of another NodeService, is none.
    for (const annotations of [
      { 'rollcall.dev/services-started': '{"node":"other","services":{"a":"service"}}' },
      { 'rollcall.dev/services-started': '{"node":"u","services":{"a":"other"}}' },
    ]) {
      set('y0', { annotations });
      expect(withheldOn('y0')).toBeUndefined();
    }
  });

  test('no more by a taint of its key that was there before with another value, which stays until there is a place', () => {
    const old: Taint = { key: TAINT.key, value: 'old', effect: 'PreferNoSchedule' };
    const change = Object.fromEntries(['n0', 'n1', 'n2'].map((name) => [name, { taints: [old] }]));
    const { turn, withheldOn, nodes } = stage(10, serviceWith(2), change);
    turn();
    const effects = [...nodes.values()].map(({ taints }) => taints?.[0]?.effect ?? '').filter(Boolean);
    expect(effects).toEqual(['NoSchedule', 'NoSchedule', 'PreferNoSchedule']);
    expect([withheldOn('n2')?.stance, withheldOn('n3')?.stance]).toEqual(['keep', 'absent']);
  });
});

test('the taint of a built-in service has no budget', () => {
  for (const gate of ['label', 'taint', 'both'] as const) {
    const { withheldOn } = stage(20, gated(serviceWith(1), gate), { n1: { taints: [TAINT] } });
    expect(withheldOn('n0')).toBeUndefined();
  }
});

describe('a node', () => {
  const own = (tolerations: ObservedPod['tolerations']) => [pod({ labels: { component: 'a' }, tolerations })];
  const intolerant = own([]);
  const tolerant = own([{ operator: 'Exists' }]);

  test('whose own pod does not tolerate the taint gets none, and loses it; the service goes on elsewhere', () => {
    const { turn, withheldOn } = stage(5, serviceWith('100%'), {
      n0: { pods: intolerant },
      n1: { pods: tolerant },
      n2: { pods: intolerant, taints: [TAINT] },
      n3: { pods: [...intolerant, ...tolerant] },
      n4: { pods: intolerant.map((each) => ({ ...each, terminating: true })) },
    });
    expect(turn()).toEqual(['n1', 'n2', 'n3', 'n4']);
    expect(['n0', 'n1', 'n2'].map((name) => withheldOn(name)?.stance)).toEqual(['absent', undefined, 'absent']);
  });

  test('without a pod is judged by the pods on other nodes', () => {
    const { turn, set } = stage(3, serviceWith('100%'), { n0: { pods: intolerant } });
    expect(turn()).toEqual([]);
    set('n1', { pods: tolerant });
    expect(turn()).toEqual(['n1', 'n2']);
  });

  test('gets a taint that only discourages, whatever its pods tolerate', () => {
    const { publish, ...service } = serviceWith();
    const taint = { ...TAINT, effect: 'PreferNoSchedule' as const };
    const { withheldOn, turn } = stage(1, { ...service, publish: { ...publish, taint } }, { n0: { pods: intolerant } });
    turn();
    expect(withheldOn('n0')).toBeUndefined();
  });
});

describe('evictions', () => {
  const LABEL = 'example.com/a';
  const service = serviceOf('a', { publish: { label: LABEL } });

  /** Every node is observed, and notes its place where there is one. Returns those from which pods may be evicted. */
  const evicting = ({ nodes, set, budget }: ReturnType<typeof stage>, names = [...nodes.keys()]) => {
    const noted = (isPlaced: boolean) => ({
      annotations: {
        'rollcall.dev/withdrawn-labels': JSON.stringify({ [LABEL]: 'true', '/services': { [LABEL]: isPlaced } }),
      },
    });
    const observe = (name: string) => budget().observe([service], nodes.get(name) as EvaluatedNode);
    for (const name of names) observe(name);
    for (const name of names) {
      const node = nodes.get(name) as EvaluatedNode;
      const isDue = node.readiness.get('a')?.state === 'not-ready';
      const isPlaced = budget().mayEvict(service, node as unknown as ObservedNode);
      const isGiven = isDue && (isPlaced || budget().hasEvictionPlace(service, node));
      set(name, {
        state: isDue ? 'not-ready' : 'ready',
        ...(isDue ? noted(isGiven) : { annotations: {} }),
      });
      observe(name);
      budget().rested([service], nodes.get(name) as EvaluatedNode);
    }
    return [...nodes.values()]
      .filter((node) => budget().mayEvict(service, node as unknown as ObservedNode))
      .map(({ name }) => name);
  };

  test('of a service without a taint are from a fifth of its nodes, and go on as these are ready again', () => {
    const all = stage(10, service);
    expect(evicting(all)).toEqual(['n0', 'n1']);
    expect([...all.budget().takeWaiting()]).toEqual([]);
    all.set('n0', { state: 'ready' });
    expect(evicting(all, ['n0'])).toEqual(['n1']);
    expect([...all.budget().takeWaiting()]).toEqual(['n2']);
    expect(evicting(all)).toEqual(['n1', 'n2']);
  });

  test('of a service without a taint are from the same nodes whoever leads', () => {
    const all = stage(10, service);
    expect(evicting(all, [...all.nodes.keys()].reverse())).toEqual(['n8', 'n9']);
    all.failover();
    expect(evicting(all)).toEqual(['n8', 'n9']);
  });

  test('of a service without a taint take places while the requests are in flight', () => {
    const { nodes, budget } = stage(5, service);
    const [first, second] = [...nodes.values()] as EvaluatedNode[];
    if (!first || !second) expect.unreachable();
    for (const node of nodes.values()) budget().observe([service], node);
    const annotations = { 'rollcall.dev/withdrawn-labels': `{"${LABEL}":"true","/services":{"${LABEL}":true}}` };
    const ended = budget().reserve([service], first.name, { set: { labels: {}, annotations, force: false } });
    expect(budget().hasEvictionPlace(service, second)).toBe(false);
    ended(false);
    expect(budget().hasEvictionPlace(service, second)).toBe(false);
    budget().rested([service], first);
    expect(budget().hasEvictionPlace(service, second)).toBe(true);
  });

  test('of a service with a taint are from the nodes that it closes', () => {
    const { turn, nodes, service, budget } = stage(10);
    turn();
    const may = [...nodes.values()].filter((node) => budget().mayEvict(service, node as unknown as ObservedNode));
    expect(may.map(({ name }) => name)).toEqual(['n0', 'n1']);
  });
});

test('people are told who waits, and that no pod matches anywhere', () => {
  const { turn, budget } = stage(5);
  turn();
  const found = budget().withholdingOf('a');
  const pods = { isKnown: () => true, all: () => [] };
  expect(found && withheldText(found, pods, 2)).toBe(
    '4 nodes wait for the taint, since 1 of 5 nodes are closed for the service, and publish.taint.maxUnavailable is 20%: n1, n2 and 2 more; no pod on any node matches the selector of the check pod',
  );
  expect(found && withheldText(found, { ...pods, isKnown: () => false }, 9)).not.toContain('no pod');
});

test('a node that is gone takes no place', () => {
  const { turn, budget, nodes, waiting } = stage(10, serviceWith(1));
  expect(turn()).toEqual(['n0']);
  nodes.delete('n0');
  budget().forget('n0');
  expect([...budget().takeWaiting()]).toEqual(['n1']);
  expect(waiting()).not.toContain('n0');
});

test.each<[unknown, boolean]>([
  [1, true],
  ['1%', true],
  ['20%', true],
  ['100%', true],
  [0, false],
  [1.5, false],
  ['0%', false],
  ['101%', false],
  ['5', false],
  [null, false],
])('maxUnavailable may be %j: %s', (value, expected) => {
  expect(isMaxUnavailable(value)).toBe(expected);
});
