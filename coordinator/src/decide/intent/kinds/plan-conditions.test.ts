import { describe, expect, test } from 'vitest';
import {
  type ConditionOwners,
  NO_CONDITION_OWNERS,
  type ObservedCondition,
} from '../../../state/observed-conditions.ts';
import type { ObservedNode } from '../../../state/observed-node.ts';
import type { Claim } from '../../labelers/labeler.ts';
import { mergeClaims } from '../intent.ts';
import type { AskSkipped, NodePlan } from '../plan.ts';
import { claim, observed } from '../plan-node.test-fixtures.ts';
import { planNode } from '../plan-node.ts';

const [A, B] = ['example.com/A', 'example.com/B'];
const listOf = (...types: readonly string[]) =>
  JSON.stringify(Object.fromEntries(types.map((type) => [`condition:${type}`, 'service:u'])));
const NEWS = { reason: 'ServiceReady', message: 'now', at: '2026-01-02T00:00:00Z' };

function there(type: string, status: string, index = 1): ObservedCondition {
  return { type, status, reason: 'Before', message: 'then', lastTransitionTime: '2026-01-01T00:00:00Z', index };
}

type Given = { there?: readonly ObservedCondition[]; listed?: readonly string[] } & Partial<
  Record<'ours' | 'touched', readonly string[]> & Pick<ConditionOwners, 'rivals'>
>;

function node({
  there: conditions = [],
  listed = [],
  ours = [],
  touched = [],
  rivals = new Map(),
}: Given): ObservedNode {
  const owners = { ...NO_CONDITION_OWNERS, ours: new Set(ours), touched: new Set(touched), rivals, entry: 3 };
  const annotations = listed.length === 0 ? {} : { 'rollcall.dev/keys': listOf(...listed) };
  return { ...observed({}), annotations, taints: [], conditions, conditionOwners: owners };
}

const condition = (key: string, change: Partial<Claim>) =>
  claim({ kind: 'condition', key, ownership: 'shared', origin: 'service:u', ...change });
const want = (key: string, value: string) => condition(key, { value, news: NEWS });
const hold = (key: string) => condition(key, { stance: 'keep', value: '' });
const gone = (key: string) => condition(key, { stance: 'absent', value: '' });

function plan(
  given: ObservedNode,
  claims: readonly ReturnType<typeof condition>[],
  ask: AskSkipped = () => undefined,
): NodePlan | undefined {
  return planNode(given, mergeClaims(claims), ask);
}

const NEW = { type: A, status: 'True', reason: 'ServiceReady', message: 'now', lastTransitionTime: NEWS.at };
const KEPT = { reason: 'Before', message: 'then', lastTransitionTime: '2026-01-01T00:00:00Z' };

describe('a condition that is wanted', () => {
  test('is listed before it is written', () => {
    const first = plan(node({}), [want(A, 'True')]);
    expect(first?.conditions).toMatchObject({ write: 'apply', conditions: [], due: false, waiting: [NEW] });
    expect(first?.set?.annotations).toEqual({ 'rollcall.dev/keys': listOf(A) });
    expect(plan(node({ listed: [A] }), [want(A, 'True')])).toMatchObject({
      conditions: { write: 'apply', conditions: [NEW], news: [A], force: false, keepsAway: false, due: true },
    });
  });

  test('stays listed while it is unknown whether it comes, and no longer', () => {
    expect(plan(node({ listed: [A] }), [hold(A)])).toBeUndefined();
    expect(plan(node({ listed: [A] }), [gone(A)])?.withdrawal?.annotations).toEqual(['rollcall.dev/keys']);
    expect(plan(node({}), [hold(A)])).toBeUndefined();
  });

  test('does not keep those waiting that are listed', () => {
    const given = node({ there: [there(A, 'True')], listed: [A], ours: [A] });
    expect(plan(given, [want(A, 'False'), want(B, 'True')])?.conditions).toMatchObject({
      conditions: [{ type: A, status: 'False' }],
      due: true,
      waiting: [{ type: B, status: 'True' }],
    });
  });

  test('costs nothing where it is so already, whatever was the reason then', () => {
    const given = node({ there: [there(A, 'True')], listed: [A], ours: [A] });
    expect(plan(given, [want(A, 'True')])).toBeUndefined();
  });

  test('is news with its status, and those that stay are sent as they are', () => {
    const given = node({ there: [there(A, 'False'), there(B, 'True', 2)], listed: [A, B], ours: [A, B] });
    const kept = { type: B, status: 'True', ...KEPT };
    expect(plan(given, [want(A, 'True'), hold(B)])?.conditions).toMatchObject({ conditions: [NEW, kept], news: [A] });
    expect(plan(given, [want(B, 'Unknown'), want(A, 'False')])?.conditions).toMatchObject({
      conditions: [
        { type: B, status: 'Unknown' },
        { type: A, status: 'False', ...KEPT },
      ],
      news: [B],
      keepsAway: true,
    });
  });

  test('takes the place of another reason or message, with the time of the status, where it is told to', () => {
    const late = condition(A, { value: 'False', news: { ...NEWS, reason: 'Late', replacesText: true } });
    const shown = { ...there(A, 'False'), reason: 'Before' };
    const given = node({ there: [shown], listed: [A], ours: [A] });
    const said = {
      type: A,
      status: 'False',
      reason: 'Late',
      message: 'now',
      lastTransitionTime: shown.lastTransitionTime,
    };
    expect(plan(given, [late])?.conditions).toMatchObject({ conditions: [said], news: [A] });
    const after = (message: string) => node({ there: [{ ...shown, reason: 'Late', message }], listed: [A], ours: [A] });
    expect(plan(after('now'), [late])?.conditions).toBeUndefined();
    expect(plan(after('then'), [late])?.conditions).toMatchObject({ conditions: [said], keepsAway: false });
  });

  test('remembers the conditions of ours that were there, and no others', () => {
    const before = (ours: string[]) => {
      const change = plan(node({ there: [there(A, 'False')], listed: [A], ours }), [want(A, 'True')])?.conditions;
      return change?.write === 'apply' ? change.before : undefined;
    };
    expect(before([A])).toEqual([{ type: A, status: 'False', ...KEPT }]);
    expect(before([])).toEqual([]);
  });

  test('takes by force what has no owner, or what another writer only changed, and nothing else', () => {
    const forced = (given: Given) => {
      const change = plan(node({ there: [there(A, 'False')], listed: [A], ...given }), [want(A, 'True')])?.conditions;
      return change?.write === 'apply' && change.force;
    };
    expect(forced({})).toBe(true);
    expect(forced({ ours: [A], touched: [A] })).toBe(true);
    expect(forced({ ours: [A] })).toBe(false);
    expect(forced({ there: [] })).toBe(false);
  });

  test('is left to a rival who has it as well, once the rival is reported, without the others', () => {
    const given = node({
      there: [there(A, 'False'), there(B, 'True', 2)],
      listed: [A, B],
      ours: [A, B],
      rivals: new Map([[A, 'rival']]),
    });
    const claims = [want(A, 'True'), want(B, 'True')];
    expect(plan(given, claims)).toMatchObject({
      conditions: { conditions: [{ type: B, status: 'True', ...KEPT }], news: [], force: false },
      foreign: [{ kind: 'condition', key: A, cause: 'foreign', wanted: 'True', message: 'owned by rival' }],
      set: { annotations: { 'rollcall.dev/keys': listOf(B) } },
    });
    const ask: AskSkipped = ({ key }) => (key === A ? 'foreign' : undefined);
    const left = node({
      there: [there(A, 'False'), there(B, 'True', 2)],
      listed: [B],
      ours: [B],
      rivals: new Map([[A, 'rival']]),
    });
    expect(plan(left, claims, ask)).toBeUndefined();
  });

  test('is left to a rival of whom only the API server knows yet', () => {
    const both = [there(A, 'False', 1), there(B, 'False', 2)];
    const given = node({ there: both, listed: [A, B], ours: [A, B] });
    const made = plan(given, [want(A, 'True'), want(B, 'True')], ({ key }) => (key === A ? 'foreign' : undefined));
    expect(made?.conditions).toMatchObject({ conditions: [{ ...NEW, type: B }], news: [B] });
  });

  test('stays as it is while it is refused', () => {
    const given = node({ there: [there(A, 'False')], listed: [A], ours: [A] });
    expect(plan(given, [want(A, 'True')], () => 'denied')).toBeUndefined();
  });
});

test('a condition that is held and is not ours by ownership is not applied', () => {
  const given = node({ there: [there(A, 'False', 1), there(B, 'False', 2)], listed: [A, B], ours: [B] });
  expect(plan(given, [hold(A), want(B, 'True')])?.conditions).toMatchObject({ conditions: [{ type: B }] });
});

describe('a condition that is not wanted any more', () => {
  test('is left out of the apply, where others of ours stay', () => {
    const given = node({ there: [there(A, 'True'), there(B, 'True', 2)], listed: [A, B], ours: [A, B] });
    expect(plan(given, [gone(A), want(B, 'True')])?.conditions).toMatchObject({
      write: 'apply',
      conditions: [{ type: B, status: 'True', ...KEPT }],
      news: [],
    });
  });

  test('is removed before the apply of others where another manager touched it: its status alone would go', () => {
    const both = { there: [there(A, 'True'), there(B, 'True', 2)], listed: [A, B], ours: [A, B], touched: [A] };
    const claims = [gone(A), want(B, 'False')];
    expect(plan(node(both), claims)?.conditions).toEqual({ write: 'remove', conditions: [{ type: A, index: 1 }] });
    // A removal that is refused holds up no news.
    const refused: AskSkipped = ({ key }) => (key === A ? 'denied' : undefined);
    expect(plan(node(both), claims, refused)?.conditions).toMatchObject({ write: 'apply', news: [B] });
  });

  test('is removed where nothing of ours stays: an empty apply would also remove what has no owner', () => {
    const given = node({ there: [there(A, 'True', 4)], listed: [A], ours: [A] });
    expect(plan(given, [gone(A)])?.conditions).toEqual({ write: 'remove', conditions: [{ type: A, index: 4 }] });
  });

  test('is removed when it is listed and has no owner, and stays when it has one', () => {
    const given = { there: [there(A, '')], listed: [A] };
    expect(plan(node(given), [gone(A)])?.conditions).toEqual({ write: 'remove', conditions: [{ type: A, index: 1 }] });
    const theirs = plan(node({ ...given, rivals: new Map([[A, 'rival']]) }), [gone(A)]);
    expect(theirs?.withdrawal?.annotations).toEqual(['rollcall.dev/keys']);
    expect(theirs?.conditions).toBeUndefined();
    expect(plan(node({ there: [there(A, 'True')] }), [gone(A)])).toBeUndefined();
  });

  test('is given up where a rival has it as well', () => {
    const given = node({ there: [there(A, 'True')], listed: [], ours: [A], rivals: new Map([[A, 'rival']]) });
    expect(plan(given, [gone(A)])?.conditions).toEqual({ write: 'disown', entry: 3 });
  });

  test('is listed until it is gone', () => {
    const given = node({ there: [there(A, 'True')], listed: [A], ours: [A] });
    expect(plan(given, [gone(A)])?.taints).toBeUndefined();
    expect(plan(node({ listed: [A] }), [gone(A)])?.withdrawal?.annotations).toEqual(['rollcall.dev/keys']);
  });
});

test('nothing is written, and all stays listed, while it is unknown what is there', () => {
  const { conditions: _, ...metadata } = node({ listed: [A], ours: [A] });
  for (const claims of [[want(A, 'True')], [hold(A)], [gone(A)]]) expect(plan(metadata, claims)).toBeUndefined();
});
