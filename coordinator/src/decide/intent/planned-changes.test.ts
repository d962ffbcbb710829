import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Claim } from '../labelers/labeler.ts';
import { plannedChanges } from './changes.ts';
import { mergeClaims } from './intent.ts';
import type { NodePlan } from './plan.ts';
import { apply, claim, observed } from './plan-node.test-fixtures.ts';
import { planNode } from './plan-node.ts';

const never = () => undefined;

test('what is there already is no change, however much is written', () => {
  const node = observed({ old: 'x', same: 'true', other: '1' }, ['old', 'same']);
  const intent = mergeClaims([claim({ key: 'same' }), claim({ key: 'new', reason: 'it came' })]);
  const plan = planNode(node, intent, never);
  expect(plan && plannedChanges(plan, node, intent)).toEqual([
    { kind: 'label', key: 'old', from: 'x', to: undefined, reason: 'nothing requests it any more' },
    { kind: 'label', key: 'new', from: undefined, to: 'true', reason: 'it came' },
  ]);
});

test('a key that another writer owns as well does not change when it is let go of', () => {
  const node = { ...observed({ both: 'x' }, ['both']), shared: new Set(['both']) };
  const intent = mergeClaims([claim({ key: 'new' })]);
  const plan = planNode(node, intent, never);
  expect(plan && plannedChanges(plan, node, intent).map(({ key }) => key)).toEqual(['new']);
});

test('taints change by their value and effect', () => {
  const taint = (key: string, value: string) => ({ key, value, effect: 'NoSchedule' });
  const node = { ...observed({}), taints: [taint('old', 'x'), taint('same', 'x')] };
  const change = {
    add: [taint('new', 'y'), { key: 'bare', effect: 'NoExecute' }, taint('same', 'x')],
    remove: ['old'],
  };
  const told = plannedChanges({ node, taints: { ...change, observed: node.taints } }, node, mergeClaims([]));
  expect(told.map(({ kind, key, from, to }) => [kind, key, from, to])).toEqual([
    ['taint', 'old', 'x:NoSchedule', undefined],
    ['taint', 'new', undefined, 'y:NoSchedule'],
    ['taint', 'bare', undefined, ':NoExecute'],
  ]);
});

test('conditions change by their status', () => {
  const at = { reason: 'r', message: 'm', lastTransitionTime: null };
  const old = { type: 'example.com/Old', status: 'True', ...at, index: 0 };
  const node = { ...observed({}), conditions: [old, { ...old, type: 'example.com/Same', index: 1 }] };
  const told = (conditions: NodePlan['conditions']) =>
    plannedChanges({ node, ...(conditions ? { conditions } : {}) }, node, mergeClaims([])).map(
      ({ kind, key, from, to }) => [kind, key, from, to],
    );
  const applied = [
    { type: 'example.com/New', status: 'False', ...at },
    { type: 'example.com/Same', status: 'True', ...at },
  ];
  const waiting = [{ type: 'example.com/Unlisted', status: 'True', ...at }];
  const rest = {
    news: ['example.com/New'],
    before: [],
    released: [],
    force: false,
    keepsAway: true,
    due: true,
    waiting,
  };
  expect(told({ write: 'apply', conditions: applied, ...rest })).toEqual([
    ['condition', 'example.com/New', undefined, 'False'],
    ['condition', 'example.com/Unlisted', undefined, 'True'],
  ]);
  expect(told({ write: 'remove', conditions: [{ type: 'example.com/Old', index: 0 }] })).toEqual([
    ['condition', 'example.com/Old', 'True', undefined],
  ]);
  expect(told({ write: 'disown', entry: 0 })).toEqual([]);
});

test('the labels that change are those that differ once the API server has done what was planned', () => {
  const key = fc.constantFrom('a', 'b', 'c');
  const value = fc.constantFrom('true', 'false');
  const claims = fc.array(
    fc.record({
      key,
      value,
      stance: fc.constantFrom('present' as const, 'absent' as const, 'keep' as const),
      ownership: fc.constantFrom('exclusive' as const, 'forced' as const, 'shared' as const),
    }),
  );
  fc.assert(
    fc.property(fc.dictionary(key, value), fc.uniqueArray(key), claims, (labels, owned, wanted: Partial<Claim>[]) => {
      const node = observed(
        labels,
        owned.filter((each) => each in labels),
      );
      const intent = mergeClaims(wanted.map(claim));
      const plan = planNode(node, intent, never);
      if (!plan) return;
      const after = apply(node, plan).labels;
      const differing = ['a', 'b', 'c'].filter((each) => labels[each] !== after[each]);
      const told = plannedChanges(plan, node, intent);
      expect(told.map((change) => change.key).sort()).toEqual(differing);
      for (const { key: each, to } of told) expect(to).toBe(after[each]);
    }),
  );
});
