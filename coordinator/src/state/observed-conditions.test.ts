import { describe, expect, test } from 'vitest';
import type { Node } from '../kube/objects.ts';
import {
  type ConditionOwners,
  conditionOwners,
  observeConditions,
  sameConditions,
  sameOwners,
} from './observed-conditions.ts';

const metadata = { name: 'n', uid: 'u', resourceVersion: '1' };

function entry(manager: string, operation: 'Apply' | 'Update', fields: Record<string, object>) {
  const named = Object.entries(fields).map(([type, each]) => [`k:{"type":"${type}"}`, each]);
  return {
    manager,
    operation,
    subresource: 'status',
    fieldsV1: { 'f:status': { 'f:conditions': { '.': {}, ...Object.fromEntries(named) } } },
  };
}

const WHOLE = { '.': {}, 'f:type': {}, 'f:status': {} };
const PART = { 'f:status': {} };

test('conditions are kept with their index in the list, except the conditions of the kubelet', () => {
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'a', status: 'False', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ];
  const node: Node = { metadata, status: { conditions } };
  expect(observeConditions(node, (text) => text)).toEqual([{ ...conditions[1], index: 1 }]);
  expect(observeConditions({ metadata }, (text) => text)).toBeUndefined();
});

test('a manager that added a condition is a rival; a manager that only changed it, or is unknown, is not', () => {
  expect(
    conditionOwners([
      { manager: 'kubelet', operation: 'Update', fieldsV1: {} },
      entry('kubelet', 'Update', { Ready: WHOLE, a: WHOLE }),
      entry('rollcall', 'Apply', { a: WHOLE, b: PART }),
      entry('before-first-apply', 'Update', { b: WHOLE }),
      entry('person', 'Update', { c: PART }),
      entry('rival', 'Apply', { a: WHOLE }),
    ]),
  ).toEqual({
    ours: new Set(['a', 'b']),
    entry: 2,
    rivals: new Map([['a', 'kubelet, rival']]),
    touched: new Set(['b', 'c']),
  });
});

test.each([
  ['rollcall', 'Apply', WHOLE, { ours: new Set(['a']), rivals: new Map(), touched: new Set() }],
  ['rival', 'Update', WHOLE, { ours: new Set(), rivals: new Map([['a', 'rival']]), touched: new Set() }],
  ['person', 'Update', PART, { ours: new Set(), rivals: new Map(), touched: new Set(['a']) }],
] as const)(
  'the only condition of a Node that %s brought is known to be theirs (%s)',
  (manager, how, fields, expected) => {
    expect(conditionOwners([entry(manager, how, { a: fields })])).toMatchObject(expected);
  },
);

describe('conditions of a Node', () => {
  const one = { type: 'a', status: 'True', reason: 'R', message: 'm', lastTransitionTime: null, index: 0 };
  const two = { ...one, type: 'b' };

  test.each([
    ['of as many as before', [one, two], [one, two], true],
    ['that came to be so at another time, elsewhere in the list', [one], [{ ...one, index: 3 }], true],
    ['of another type', [one], [{ ...one, type: 'b' }], false],
    ['of another status', [one], [{ ...one, status: 'False' }], false],
    ['for another reason', [one], [{ ...one, reason: 'S' }], false],
    ['of which one differs', [one, two], [one, { ...two, status: 'False' }], false],
    ['of which one is gone', [one, two], [one], false],
    ['of which there are none', [one], [], false],
    ['that are not known', [], undefined, false],
    ['that are as unknown as before', undefined, undefined, true],
  ])('%s are the same: %4$s', (_what, before, after, expected) => {
    expect([sameConditions(before, after), sameConditions(after, before)]).toEqual([expected, expected]);
  });
});

describe('owners of conditions', () => {
  const owners = (): ConditionOwners => ({
    ours: new Set(['a']),
    entry: 0,
    rivals: new Map([['b', 'rival']]),
    touched: new Set(['c']),
  });

  test('are the same where all of them are', () => {
    expect(sameOwners(owners(), owners())).toBe(true);
  });

  test.each<[string, Partial<ConditionOwners>]>([
    ['what is ours', { ours: new Set(['x']) }],
    ['how much is ours', { ours: new Set() }],
    ['what was touched', { touched: new Set(['x']) }],
    ['how much was touched', { touched: new Set(['c', 'd']) }],
    ['whose a condition is', { rivals: new Map([['b', 'another']]) }],
    ['which condition is of a rival', { rivals: new Map([['x', 'rival']]) }],
    ['how many are of a rival', { rivals: new Map() }],
  ])('differ by %s', (_what, change) => {
    const other = { ...owners(), ...change };
    expect([sameOwners(owners(), other), sameOwners(other, owners())]).toEqual([false, false]);
  });
});
