import { expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import { impliedLabels } from '../labelers/implied-labels.ts';
import type { Labelers } from '../labelers/labeler.ts';
import { poolLabelsLabeler } from '../labelers/pool-labels.ts';
import { rulesOf } from '../labelers/rules.test-fixtures.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { intentOf } from './intent.ts';
import { apply, isToWrite, observed } from './plan-node.test-fixtures.ts';
import { planNode } from './plan-node.ts';

const keys = registryOf({ poolLabels: ['agentpool'] });
const pools = poolLabelsLabeler({ keys, domains: [], allowedPrefixes: [] });

const RULES = rulesOf(['tier'], { implied: { tier: { value: 'true', reason: 'a rule' } } });

type World = { rule: boolean; set: boolean };

/** Plans and writes until there is nothing to do. */
function settle(before: ObservedNode, { rule, set }: World): ObservedNode {
  const labelers: Labelers = {
    labelers: [pools],
    consequences: rule
      ? [
          impliedLabels(
            () => RULES,
            keys,
            () => [],
          ),
        ]
      : [],
  };
  const poolLabelSet = set
    ? {
        kind: 'NodePoolLabels' as const,
        ...{ uid: 'u', name: 'gold', namespace: 'rollcall', generation: 1, createdAt: '', pool: 'gold' },
        ...{ labels: { tier: 'gold' }, status: undefined },
      }
    : undefined;
  let node = before;
  for (let round = 0; round < 5; round += 1) {
    const { labels: ownedLabels, annotations: ownedAnnotations } = node.owned;
    const seen = snapshot({ ...node, ownedLabels, ownedAnnotations, pool: 'gold', poolLabelSet });
    const evaluated = { ...seen, readiness: new Map(), ageMs: 0 };
    const plan = planNode(node, intentOf(labelers, evaluated), () => undefined);
    if (!isToWrite(plan)) return node;
    node = apply(node, plan);
  }
  throw new Error('It does not settle');
}

/** A node on which these worlds came one after the other. */
function after(...history: World[]): ObservedNode {
  return history.reduce(settle, observed({}));
}

const BOTH = { rule: true, set: true };

test('a NodePoolLabelSet goes before a rule with the same key, whichever came first', () => {
  const histories = [[], [{ rule: true, set: false }], [{ rule: false, set: true }]];
  const ends = histories.map((history) => after(...history, BOTH));
  for (const { labels, annotations } of ends) {
    expect(labels).toEqual({ tier: 'gold' });
    expect(annotations).toEqual({
      'nodepool.banzaicloud.io/managed-labels': '["tier"]',
      'rollcall.dev/keys': '{"label:tier":"pool"}',
    });
  }
});

test('it does so where the list of the rule is gone', () => {
  const { annotations: _, ...old } = after({ rule: true, set: false });
  const forgetful = { ...old, annotations: {}, owned: { ...old.owned, annotations: new Set<string>() } };
  expect(settle(forgetful, BOTH).labels).toEqual({ tier: 'gold' });
});

test('the rule has the key when the set no longer asks for it, also if the set wrote the label last', () => {
  const ruled = { labels: { tier: 'true' }, annotations: { 'rollcall.dev/keys': '{"label:tier":"rule"}' } };
  expect(settle(after(BOTH), { rule: true, set: false })).toMatchObject(ruled);
  const byAdmission = {
    ...observed({ tier: 'gold' }),
    annotations: { 'nodepool.banzaicloud.io/managed-labels': '["tier"]' },
  };
  expect(settle(byAdmission, { rule: true, set: false })).toMatchObject(ruled);
});

test('a label of another writer belongs to neither', () => {
  expect(settle(observed({ tier: 'theirs' }), BOTH).labels).toEqual({ tier: 'theirs' });
});
