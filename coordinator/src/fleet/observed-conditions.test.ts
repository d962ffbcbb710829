import { expect, test } from 'vitest';
import type { Node } from '../kube/objects.ts';
import { conditionOwners, observeConditions } from './observed-conditions.ts';

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

test('a condition is known with its place in the list, without those of the kubelet', () => {
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'a', status: 'False', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ];
  const node: Node = { metadata, status: { conditions } };
  expect(observeConditions(node, (text) => text)).toEqual([{ ...conditions[1], index: 1 }]);
  expect(observeConditions({ metadata }, (text) => text)).toBeUndefined();
});

test('who brought a condition is a rival; who changed something in it, or is nobody, is not', () => {
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
