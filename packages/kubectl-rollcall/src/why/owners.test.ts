import { expect, test } from 'vitest';
import { type NodeObject, ownersOf } from './owners.ts';

type Fields = NonNullable<NodeObject['metadata']['managedFields']>[number];

const nodeWith = (...managedFields: Fields[]): NodeObject => ({ metadata: { name: 'node-1', managedFields } });
const FIELDS = {
  label: { 'f:metadata': { 'f:labels': { 'f:k': {} } } },
  annotation: { 'f:metadata': { 'f:annotations': { 'f:k': {} } } },
  taint: { 'f:spec': { 'f:taints': {} } },
  condition: { 'f:status': { 'f:conditions': { 'k:{"type":"k"}': {} } } },
} as const;
const KINDS = ['label', 'annotation', 'taint', 'condition'] as const;

test.each(KINDS)('the owner of a %s is found where the API server keeps it', (kind) => {
  const all = KINDS.map((each) => ({ manager: `of-${each}`, fieldsV1: FIELDS[each] }));
  expect(ownersOf(nodeWith(...all), kind, 'k')).toEqual([`of-${kind}`]);
});

test('a key that is in no list has no owners', () => {
  expect(ownersOf(nodeWith({ manager: 'a', fieldsV1: FIELDS.label }), 'label', 'other')).toEqual([]);
  expect(ownersOf({ metadata: { name: 'node-1' } }, 'label', 'k')).toEqual([]);
});

test('an owner of several parts is named once', () => {
  const owned = { manager: 'a', fieldsV1: FIELDS.label };
  expect(
    ownersOf(nodeWith(owned, { ...owned, subresource: 'status' }, { ...owned, manager: 'b' }), 'label', 'k'),
  ).toEqual(['a', 'b']);
});

test.each<[string, Fields]>([
  ['no name', { fieldsV1: FIELDS.label }],
  ['no fields', { manager: 'a' }],
  ['null where a list is', { manager: 'a', fieldsV1: { 'f:metadata': null } }],
  ['a text where a list is', { manager: 'a', fieldsV1: { 'f:metadata': 'f:labels' } }],
])('an entry with %s owns nothing', (_what, fields) => {
  expect(ownersOf(nodeWith(fields), 'label', 'k')).toEqual([]);
});
