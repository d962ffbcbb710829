import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { MaxUnavailable } from '../model/services.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';
import { pod, snapshot } from './readiness/readiness.test-fixtures.ts';
import { TaintBudget } from './taint-budget.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const ADDED = { taints: { add: [TAINT], remove: [], observed: [] } };
const serviceWith = (maxUnavailable: MaxUnavailable, nodeSelector = {}) =>
  serviceOf('a', {
    checks: [podsCheck('a')],
    nodeSelector: { matchLabels: {}, matchExpressions: [], ...nodeSelector } as never,
    publish: { taint: { ...TAINT, maxUnavailable } },
    origin: { kind: 'object', uid: 'service', generation: 1, createdAtMs: 1000 },
  });
const node = (name: string, more: Partial<EvaluatedNode> & { undecided?: boolean } = {}): EvaluatedNode =>
  ({
    ageMs: 0,
    ...snapshot({ name, taints: [], pods: [] }),
    readiness: new Map([
      [
        'a',
        {
          state: more.undecided ? 'unknown' : 'not-ready',
          reason: '',
          cause: 'evidence',
          sinceMs: 0,
          ...(more.undecided ? { isUndecided: true } : {}),
        },
      ],
    ]),
    ...more,
  }) as EvaluatedNode;
const budgetOf = (nodes: Map<string, EvaluatedNode>) =>
  new TaintBudget({
    nodes: () => [...nodes.values()] as unknown as ObservedNode[],
    podsOn: (name) => nodes.get(name)?.pods ?? [],
    evicts: false,
  });

test('a node whose taint its service is found not to tolerate elsewhere is looked at', () => {
  const service = serviceWith(1);
  const nodes = new Map([node('a', { taints: [TAINT] }), node('b')].map((each) => [each.name, each]));
  const budget = budgetOf(nodes);
  for (const each of nodes.values()) budget.observe([service], each);
  expect(budget.withheld(service, nodes.get('a') as EvaluatedNode)).toBeUndefined();
  // The pod that came to the other node does not tolerate the taint.
  const b = node('b', { pods: [pod({ ready: false, labels: { component: 'a' }, tolerations: [] })] });
  nodes.set('b', b);
  budget.observe([service], b);
  expect(budget.withheld(service, nodes.get('a') as EvaluatedNode)?.stance).toBe('absent');
  expect([...budget.takeWaiting()]).toEqual(['a']);
});

test('a node that the service may not select is none of those that were open for it', () => {
  const service = serviceWith('20%', { matchLabels: { gpu: 'true' } });
  const labels = { gpu: 'true' };
  const nodes = new Map<string, EvaluatedNode>();
  for (let at = 0; at < 10; at += 1) nodes.set(`gpu${at}`, node(`gpu${at}`, { labels }));
  for (let at = 0; at < 90; at += 1) nodes.set(`n${at}`, node(`n${at}`, { undecided: true }));
  const budget = budgetOf(nodes);
  for (const each of nodes.values()) budget.observe([service], each);
  let closed = 0;
  for (let at = 0; at < 10; at += 1) {
    const each = nodes.get(`gpu${at}`) as EvaluatedNode;
    if (budget.withheld(service, each)) continue;
    closed += 1;
    budget.observe([service], { ...each, taints: [TAINT] });
  }
  expect(closed).toBe(2);
});

test('a node whose taints an answer did not show is closed as before', () => {
  const service = serviceWith(1);
  const nodes = new Map([node('a', { taints: [TAINT] }), node('b')].map((each) => [each.name, each]));
  const budget = budgetOf(nodes);
  for (const each of nodes.values()) budget.observe([service], each);
  const { taints: _taints, ...unknown } = node('a');
  budget.observe([service], unknown as EvaluatedNode);
  expect(budget.withheld(service, nodes.get('b') as EvaluatedNode)?.stance).toBe('absent');
  budget.observe([service], node('a'));
  expect(budget.withheld(service, nodes.get('b') as EvaluatedNode)).toBeUndefined();
});

test('a request that was not answered holds a place, and gives none to its node once the service is another', () => {
  const [before, after] = [serviceWith('100%'), serviceWith(1)];
  const other = { ...TAINT, value: 'before' };
  const nodes = new Map(['a', 'b'].map((name) => [name, node(name, { taints: [other] })]));
  const budget = budgetOf(nodes);
  for (const each of nodes.values()) budget.observe([before], each);
  for (const name of nodes.keys()) budget.reserve([before], name, ADDED)(false);
  for (const each of nodes.values()) budget.observe([after], each);
  const mayHave = () => [...nodes.values()].filter((each) => !budget.withheld(after, each)).map(({ name }) => name);
  expect(mayHave()).toEqual([]);
  for (const each of nodes.values()) budget.rested([after], each);
  const [first = ''] = mayHave();
  budget.reserve([after], first, ADDED);
  expect(mayHave()).toEqual([first]);
});

test('a node keeps the place that its own unanswered request may have taken, also when the service is another', () => {
  const [before, after] = [serviceWith(1), serviceWith(1)];
  const nodes = new Map(['a', 'b'].map((name) => [name, node(name)]));
  const [a, b] = [...nodes.values()] as [EvaluatedNode, EvaluatedNode];
  const budget = budgetOf(nodes);
  for (const each of [a, b]) budget.observe([before], each);
  budget.reserve([before], 'a', ADDED)(false);
  for (const each of [a, b]) budget.observe([after], each);
  expect(budget.withheld(after, b)?.stance).toBe('absent');
  expect(budget.withheld(after, a)).toBeUndefined();
});
