import { SCALE_DOWN_HOLD, SCHEDULING_HINT_ANNOTATION } from '@rollcall/common/well-known.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { publishing, serviceOf } from '../../model/services.test-fixtures.ts';
import { type ObservedNode, observeNode } from '../../state/observed-node.ts';
import type { Claim } from '../labelers/labeler.ts';
import { mergeClaims } from './intent.ts';
import type { NodePlan } from './plan.ts';
import { apply, claim, observed } from './plan-node.test-fixtures.ts';
import { planNode, prunePlan } from './plan-node.ts';

const never = () => undefined;

function plan(node: ObservedNode, ...claims: Partial<Claim>[]): NodePlan | undefined {
  return planNode(node, mergeClaims(claims.map(claim)), never);
}

describe('a plan', () => {
  test('sets a wanted key with the uid of the node it was made for', () => {
    expect(plan(observed({}), {})).toEqual({
      node: { name: 'n', uid: 'u', resourceVersion: '7' },
      set: { labels: { k: 'true' }, annotations: {}, force: false },
    });
  });

  test('is nothing when the node is as it should be', () => {
    expect(plan(observed({ k: 'true', other: 'x' }, ['k']), {})).toBeUndefined();
  });

  test('of a key that every object has by birth is like any other', () => {
    const metadata = { name: 'n', uid: 'u', resourceVersion: '7' };
    const node = observeNode({ apiVersion: 'v1', kind: 'Node', metadata }, (text) => text, new Set());
    expect(node.labels['constructor']).toBeUndefined();
    const made = plan(node, { key: 'constructor' }, { key: 'toString', stance: 'absent' });
    expect(made).toMatchObject({ set: { labels: { constructor: 'true' } } });
    expect(made?.withdrawal).toBeUndefined();
  });

  test('takes ownership of a key that another writer set to the same value', () => {
    expect(plan(observed({ k: 'true' }), {})?.set).toEqual({ labels: { k: 'true' }, annotations: {}, force: false });
  });

  test('overwrites another value of an exclusive key by force', () => {
    expect(plan(observed({ k: 'false' }), {})?.set).toEqual({ labels: { k: 'true' }, annotations: {}, force: true });
  });

  test('never forces a shared key that may belong to another writer', () => {
    const node = observed({ mine: 'false', theirs: 'gold' });
    const made = plan(node, { key: 'mine' }, { key: 'theirs', value: 'silver', ownership: 'shared' });
    expect(made?.set).toEqual({ labels: { mine: 'true' }, annotations: {}, force: true });
  });

  test('withdraws an exclusive key of any owner, by a request that sets nothing', () => {
    const made = plan(observed({ k: 'true' }), { stance: 'absent' });
    expect(made?.withdrawal).toEqual({ labels: ['k'], annotations: [] });
    expect(made?.set).toBeUndefined();
  });

  test('does not touch a withheld key that is shared', () => {
    expect(plan(observed({ k: 'true' }), { stance: 'absent', ownership: 'shared' })).toBeUndefined();
  });

  test('releases what it applied and no longer wants, by leaving it out', () => {
    const made = plan(observed({ k: 'true', old: 'x' }, ['k', 'old']), {});
    expect(made?.set?.labels).toEqual({ k: 'true' });
    expect(made?.withdrawal).toBeUndefined();
  });

  test('keeps a held key in an apply that is needed for another, and is no reason for one by itself', () => {
    const node = observed({ k: 'true' }, ['k']);
    expect(plan(node, { stance: 'keep' })).toBeUndefined();
    expect(plan(node, { stance: 'keep' }, { key: 'b' })?.set?.labels).toEqual({ k: 'true', b: 'true' });
    expect(plan(observed({}), { stance: 'keep' })).toBeUndefined();
  });

  test('leaves out what is skipped', () => {
    const made = planNode(observed({}), mergeClaims([claim(), claim({ key: 'bad' })]), ({ key }) =>
      key === 'bad' ? 'invalid' : undefined,
    );
    expect(made?.set?.labels).toEqual({ k: 'true' });
  });
});

test('what is about a service goes ahead of the rest of a withdrawal', () => {
  const node = observed({ ready: 'true', old: '1' });
  const gone = { stance: 'absent' } as const;
  const made = plan(node, { ...gone, key: 'old' }, { ...gone, key: 'ready', sinceMs: 0 });
  expect(made).toMatchObject({ withdrawal: { labels: ['old', 'ready'] }, ahead: ['ready'] });
  expect(plan(node, { ...gone, key: 'old' })?.ahead).toBeUndefined();
});

test('an exclusive key that was found to belong to another writer is taken over as soon as its value is in view', () => {
  const intent = mergeClaims([claim()]);
  expect(planNode(observed({}), intent, () => 'foreign')).toBeUndefined();
  expect(planNode(observed({ k: 'false' }), intent, () => 'foreign')?.set).toMatchObject({
    labels: { k: 'true' },
    force: true,
  });
  expect(planNode(observed({ k: 'false' }), intent, () => 'denied')?.set).toBeUndefined();
});

describe('a key with force that is released', () => {
  const forced = { kind: 'annotation', ownership: 'forced' } as const;
  const node = (value: string, change: Partial<ObservedNode> = {}) => ({
    ...observed({}),
    annotations: { k: value },
    ...change,
  });

  test('overwrites what others set, and is not removed from them', () => {
    expect(plan(node('false'), forced)?.set).toEqual({ labels: {}, annotations: { k: 'true' }, force: true });
    expect(plan(node('true'), { ...forced, stance: 'absent' })).toBeUndefined();
    const owned = { labels: new Set<string>(), annotations: new Set(['k']) };
    const released = plan(node('true', { owned }), { ...forced, stance: 'absent' });
    expect(released).toMatchObject({ set: { annotations: {}, force: false } });
    expect(released?.withdrawal).toBeUndefined();
  });

  test('is removed where only a predecessor left it', () => {
    const made = plan(node('true', { inherited: new Set(['k']) }), { ...forced, stance: 'absent' });
    expect(made?.withdrawal).toEqual({ labels: [], annotations: ['k'] });
  });
});

describe('taints in a plan', () => {
  const taint = (key: string, effect = 'NoSchedule') => ({ key, effect });
  const claims = (stance: Claim['stance']): Partial<Claim> => ({ kind: 'taint', stance });

  test('are added and removed by key, and left alone where they are not known', () => {
    expect(plan({ ...observed({}), taints: [] }, claims('present'))?.taints?.add).toEqual([
      { key: 'k', value: 'true', effect: 'NoSchedule' },
    ]);
    expect(plan({ ...observed({}), taints: [taint('k')] }, claims('absent'))?.taints?.remove).toEqual(['k']);
    expect(plan(observed({}), claims('present'))).toBeUndefined();
  });

  test('that keep no pod away, or have another value, are replaced', () => {
    const ours = { key: 'k', value: 'true', effect: 'NoSchedule' };
    for (const wrong of [taint('k', 'PreferNoSchedule'), taint('k'), { ...ours, value: 'false' }]) {
      const node = { ...observed({}), taints: [wrong] };
      expect(plan(node, claims('present'))?.taints).toMatchObject({ add: [ours], remove: ['k'] });
      for (const taints of [
        [wrong, ours],
        [ours, wrong],
      ]) {
        expect(plan({ ...node, taints }, claims('present'))?.taints).toMatchObject({ add: [ours], remove: ['k'] });
      }
      expect(plan({ ...node, taints: [wrong, ours] }, claims('absent'))?.taints?.remove).toEqual(['k']);
    }
  });

  test('that evict are replaced where another effect is asked for by name', () => {
    const node = { ...observed({}), taints: [{ key: 'k', value: 'true', effect: 'NoExecute' }] };
    const named: Partial<Claim> = { ...claims('present'), effect: 'NoSchedule' };
    const add = [{ key: 'k', value: 'true', effect: 'NoSchedule' }];
    expect(plan(node, named)?.taints).toMatchObject({ add, remove: ['k'] });
    expect(plan(node, { ...named, effect: 'NoExecute' })).toBeUndefined();
  });

  test('need no change when they are as they should be, whatever their effect', () => {
    expect(plan({ ...observed({}), taints: [taint('k', 'NoExecute')] }, claims('present'))).toBeUndefined();
    expect(plan({ ...observed({}), taints: [taint('x')] }, claims('absent'))).toBeUndefined();
    expect(plan({ ...observed({}), taints: [taint('k')] }, claims('keep'))).toBeUndefined();
  });
});

test('pruning removes exclusive keys of any owner, and releases the rest', () => {
  const keys = registryOf({ watchedServices: [serviceOf('ws-daemon', { publish: publishing('ready', 'not-ready') })] });
  const taints = [
    { key: 'x', effect: 'NoSchedule' },
    { key: 'not-ready', effect: 'NoSchedule' },
  ];
  const node = { ...observed({ ready: 'true', ours: 'x', theirs: 'y' }, ['ours']), taints };
  const plan = prunePlan(node, keys);
  expect(plan).toMatchObject({
    withdrawal: { labels: ['ready'], annotations: [] },
    taints: { add: [], remove: ['not-ready'] },
  });
  // Not one key more or less: `toMatchObject` would let pass what stays applied.
  expect(plan?.set).toEqual({ labels: {}, annotations: {}, force: false });
  expect(prunePlan(observed({ theirs: 'y' }), keys)).toBeUndefined();
});

test('pruning leaves alone what only people write, and lets go of what it does not have to remove', () => {
  const keys = registryOf({});
  const [hold, hint] = [SCALE_DOWN_HOLD, SCHEDULING_HINT_ANNOTATION];
  const theirs = { ...observed({}), annotations: { [hold]: 'true', [hint]: '2026-01-01T00:00:00Z' } };
  expect(prunePlan(theirs, keys)).toBeUndefined();
  const ours = { ...theirs, owned: { ...theirs.owned, annotations: new Set([hint]) } };
  const plan = prunePlan(ours, keys);
  expect(plan?.withdrawal).toBeUndefined();
  expect(plan?.set).toEqual({ labels: {}, annotations: {}, force: false });
});

const KEYS = ['a', 'b', 'c', 'd'];
const OWNERSHIP = { label: 'exclusive', annotation: 'forced', taint: 'exclusive' } as const;
const claimArbitrary = fc
  .record({
    labeler: fc.constantFrom('one', 'two', 'three'),
    kind: fc.constantFrom('label' as const, 'annotation' as const, 'taint' as const),
    key: fc.constantFrom(...KEYS),
    value: fc.constantFrom('true', 'x'),
    stance: fc.constantFrom('present' as const, 'keep' as const, 'absent' as const),
    reason: fc.constantFrom('r1', 'r2'),
  })
  .map((fields) => ({ ...fields, cause: 'evidence' as const, ownership: OWNERSHIP[fields.kind] }));
const claimsArbitrary = fc.array(claimArbitrary, { maxLength: 12 });
const valuesArbitrary = fc.dictionary(fc.constantFrom(...KEYS, 'foreign'), fc.constantFrom('true', 'x', 'y'));
const nodeArbitrary = fc
  .record({
    labels: valuesArbitrary,
    annotations: valuesArbitrary,
    taints: fc.array(
      fc.record({
        key: fc.constantFrom(...KEYS, 'foreign'),
        value: fc.constantFrom('true', 'x'),
        effect: fc.constantFrom('NoSchedule', 'NoExecute', 'PreferNoSchedule'),
      }),
    ),
    owned: fc.subarray(KEYS),
    inherited: fc.subarray(KEYS),
  })
  .map(({ labels, annotations, taints, owned, inherited }): ObservedNode => {
    const those = (values: object, keys: string[]) => new Set(keys.filter((key) => key in values));
    return {
      ...observed(labels),
      annotations,
      taints,
      owned: { labels: those(labels, owned), annotations: those(annotations, owned) },
      inherited: those(annotations, inherited),
    };
  });

test('where labelers agree that a key has to go, it goes as far as any of them would have it', () => {
  const gone = { stance: 'absent', ownership: 'shared' } as const;
  const claims = [claim({ ...gone, labeler: 'a' }), claim({ ...gone, ownership: 'exclusive', labeler: 'b' })];
  for (const all of [claims, claims.toReversed()]) {
    expect(planNode(observed({ k: 'true' }), mergeClaims(all), never)?.withdrawal?.labels).toEqual(['k']);
  }
});

test('of two values that are wanted, the one that is not left to others is set', () => {
  const claims = [claim({ ownership: 'shared', labeler: 'a' }), claim({ value: 'gold', labeler: 'b' })];
  for (const all of [claims, claims.toReversed()]) {
    expect(planNode(observed({}), mergeClaims(all), never)?.set?.labels).toEqual({ k: 'gold' });
  }
});

test('what was claimed otherwise is kept, in the order in which it would have been followed', () => {
  const claims = [
    claim({ labeler: 'a' }),
    claim({ value: 'b', labeler: 'b' }),
    claim({ stance: 'keep', labeler: 'c' }),
    claim({ stance: 'absent', labeler: 'd' }),
    claim({ labeler: 'e' }),
  ];
  for (const all of [claims, claims.toReversed()]) {
    const [entry] = mergeClaims(all).values();
    expect(entry?.labeler).toBe('a');
    expect(entry?.overruled.map(({ labeler }) => labeler)).toEqual(['b', 'c', 'd']);
  }
});

describe('for every node and every set of claims', () => {
  test('the intent does not depend on the order of the claims, nor on repetition', () => {
    fc.assert(
      fc.property(claimsArbitrary, fc.infiniteStream(fc.nat()), (claims, ranks) => {
        const shuffled = [...claims, ...claims].map((item) => ({ item, rank: ranks.next().value as number }));
        shuffled.sort((a, b) => a.rank - b.rank);
        const followed = (all: typeof claims) =>
          [...mergeClaims(all)].map(([key, { stance, ownership, value, labeler, reason }]) =>
            [key, stance, ownership, value, labeler, reason].join(),
          );
        expect(followed(shuffled.map(({ item }) => item)).sort()).toEqual(followed(claims).sort());
      }),
    );
  });

  test('a plan that was carried out leaves nothing to plan', () => {
    fc.assert(
      fc.property(nodeArbitrary, claimsArbitrary, (node, claims) => {
        const intent = mergeClaims(claims);
        const made = planNode(node, intent, never);
        if (made) expect(planNode(apply(node, made), intent, never)).toBeUndefined();
      }),
    );
  });

  test('a key that no labeler claims and rollcall did not apply is never in a plan', () => {
    fc.assert(
      fc.property(nodeArbitrary, claimsArbitrary, (node, claims) => {
        const made = planNode(node, mergeClaims(claims), never);
        if (!made) return;
        const keys = [
          ...[made.withdrawal?.labels, made.withdrawal?.annotations, made.taints?.remove].flatMap((list) => list ?? []),
          ...Object.keys({ ...made.set?.labels, ...made.set?.annotations }),
          ...(made.taints?.add ?? []).map(({ key }) => key),
        ];
        expect(keys).not.toContain('foreign');
        const after = apply(node, made);
        expect(after.labels['foreign']).toBe(node.labels['foreign']);
        expect(after.annotations['foreign']).toBe(node.annotations['foreign']);
        const foreignTaints = (each: ObservedNode) => each.taints?.filter(({ key }) => key === 'foreign');
        expect(foreignTaints(after)).toEqual(foreignTaints(node));
      }),
    );
  });

  test('afterwards every wanted key is there, and every withheld one is absent or belongs to another writer', () => {
    fc.assert(
      fc.property(nodeArbitrary, claimsArbitrary, (node, claims) => {
        const intent = mergeClaims(claims);
        const made = planNode(node, intent, never);
        const after = made ? apply(node, made) : node;
        for (const { kind, key, stance, value } of intent.values()) {
          const [was, is] = [node, after].map((each) => shownOn(each, kind, key));
          const isOthers = kind === 'annotation' && !node.owned.annotations.has(key) && !node.inherited.has(key);
          if (stance === 'keep') expect(is).toBe(was);
          else if (stance === 'present') expect(kind === 'taint' ? is !== undefined : is === value).toBe(true);
          else expect(is).toBe(isOthers ? was : undefined);
        }
      }),
    );
  });
});

function shownOn(node: ObservedNode, kind: Claim['kind'], key: string): string | undefined {
  if (kind === 'label') return node.labels[key];
  if (kind === 'annotation') return node.annotations[key];
  return node.taints
    ?.filter((taint) => taint.key === key)
    .map(({ effect }) => effect)
    .reduce<string | undefined>((all, effect) => `${all ?? ''}${effect}`, undefined);
}

describe('a label of ours without an owner, since managedFields were reset', () => {
  const node = (owned: string[]) => ({
    ...observed({ k: 'true', other: 'x' }, owned),
    annotations: { 'rollcall.dev/keys': '{"label:k":"device"}' },
    ownerless: new Set(['k']),
  });

  test.each([[[]], [['k']]])('is removed once nothing requests it, and stays listed until then: owned %j', (owned) => {
    const intent = mergeClaims([claim({ stance: 'absent', ownership: 'shared', origin: 'device' })]);
    const plan = planNode(node(owned), intent, () => undefined);
    expect(plan?.withdrawal?.labels).toEqual(['k']);
    expect(plan?.set?.annotations['rollcall.dev/keys'] ?? 'unchanged').toMatch(/unchanged|label:k/);
  });

  test('gets another value by force', () => {
    const intent = mergeClaims([claim({ value: '2', ownership: 'shared', origin: 'device' })]);
    expect(planNode(node([]), intent, () => undefined)?.set).toMatchObject({ labels: { k: '2' }, force: true });
  });
});
