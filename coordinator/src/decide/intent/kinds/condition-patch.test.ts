import { expect, test } from 'vitest';
import type { ConditionChange } from '../plan.ts';
import { conditionsWrite } from './condition.ts';

const node = { name: 'n', uid: 'u', resourceVersion: '1' };
const patchOf = (conditions: ConditionChange) =>
  conditionsWrite.patch({ write: 'conditions', conditions }, node, false).body;
const uidTest = { op: 'test', path: '/metadata/uid', value: 'u' };

test('conditions are removed from the last to the first, each if it is still where it was seen', () => {
  const seen = [
    { type: 'b', index: 2 },
    { type: 'c', index: 10 },
    { type: 'a', index: 0 },
  ];
  expect(patchOf({ write: 'remove', conditions: seen })).toEqual([
    uidTest,
    { op: 'test', path: '/status/conditions/10/type', value: 'c' },
    { op: 'remove', path: '/status/conditions/10' },
    { op: 'test', path: '/status/conditions/2/type', value: 'b' },
    { op: 'remove', path: '/status/conditions/2' },
    { op: 'test', path: '/status/conditions/0/type', value: 'a' },
    { op: 'remove', path: '/status/conditions/0' },
  ]);
});

test('the entry of managedFields that is given up is one that rollcall applied to the status', () => {
  const path = '/metadata/managedFields/3';
  expect(patchOf({ write: 'disown', entry: 3 })).toEqual([
    uidTest,
    { op: 'test', path: `${path}/manager`, value: 'rollcall' },
    { op: 'test', path: `${path}/operation`, value: 'Apply' },
    { op: 'test', path: `${path}/subresource`, value: 'status' },
    { op: 'remove', path },
  ]);
});
