import { describe, expect, test } from 'vitest';
import { setWrite } from '../decide/intent/kinds/metadata.ts';
import type { NodeKeyRef } from '../decide/intent/plan.ts';
import type { Node } from '../kube/objects.ts';
import { refusedIn, writersOf, writtenKeys } from './written-keys.ts';

const metadata = { name: 'n', uid: 'u', resourceVersion: '2' };
const seen = {
  name: 'n',
  uid: 'u',
  labels: { same: '1', other: 'old' },
  annotations: {},
  owned: { labels: new Set<string>(), annotations: new Set<string>() },
};

test('of a set, the keys that it changes count, and whether the answer has them', () => {
  const set = { labels: { same: '1', other: '1', stripped: '1' }, annotations: { note: 'x' }, force: false };
  const answer: Node = { metadata: { ...metadata, labels: { same: '1', other: '1' }, annotations: { note: 'y' } } };
  expect(writtenKeys({ write: 'set', set }, seen, answer)).toEqual([
    { kind: 'label', key: 'other', wanted: '1', held: true, keepsAway: false },
    { kind: 'label', key: 'stripped', wanted: '1', held: false, keepsAway: false },
    { kind: 'annotation', key: 'note', wanted: 'x', held: false, keepsAway: false },
  ]);
});

test('a withdrawal, and a taint that is added, keep pods away', () => {
  const answer: Node = { metadata, spec: { taints: [{ key: 'a', value: 'true', effect: 'NoSchedule' }] } };
  const keys = { labels: ['other'], annotations: [] };
  expect(writtenKeys({ write: 'withdraw', keys }, seen, answer)).toEqual([
    { kind: 'label', key: 'other', wanted: undefined, held: true, keepsAway: true },
  ]);
  const taints = { add: [{ key: 'a', value: 'true', effect: 'NoSchedule' }], remove: ['a', 'b'], observed: [] };
  expect(writtenKeys({ write: 'taints', taints }, seen, answer)).toEqual([
    { kind: 'taint', key: 'a', wanted: 'true:NoSchedule', held: true, keepsAway: true },
    { kind: 'taint', key: 'b', wanted: undefined, held: true, keepsAway: false },
  ]);
});

test.each([
  { what: 'one of the same key with another effect', after: { key: 'a', value: 'true', effect: 'PreferNoSchedule' } },
  { what: 'one of the same key with another value', after: { key: 'a', value: 'false', effect: 'NoSchedule' } },
  { what: 'another one', after: { key: 'b', value: 'true', effect: 'NoSchedule' } },
] as const)('a taint of which the answer shows $what is not there', ({ after }) => {
  const taints = { add: [{ key: 'a', value: 'true', effect: 'NoSchedule' as const }], remove: [], observed: [] };
  const [written] = writtenKeys({ write: 'taints', taints }, seen, { metadata, spec: { taints: [after] } });
  expect(written).toMatchObject({ key: 'a', held: false });
});

test('a list of keys that changes with taints counts', () => {
  const keys = { before: undefined, after: '{"taint:a":"gitpod"}' };
  const taints = { add: [], remove: ['b'], observed: [], keys };
  const written = (annotations: Record<string, string>) =>
    writtenKeys({ write: 'taints', taints }, seen, { metadata: { ...metadata, annotations } })[1];
  const list = { kind: 'annotation', key: 'rollcall.dev/keys', wanted: keys.after, keepsAway: false };
  expect(written({ 'rollcall.dev/keys': keys.after })).toEqual({ ...list, held: true });
  expect(written({})).toEqual({ ...list, held: false });
});

describe('of a refused write', () => {
  const of = (write: Parameters<typeof refusedIn>[0], ref: NodeKeyRef, cause: 'foreign' | 'denied' = 'denied') =>
    refusedIn(write, [{ ref, message: 'no' }], { cause, ahead: ['ready'] }).map(({ wanted, keepsAway }) => [
      wanted,
      keepsAway,
    ]);
  const condition = { type: 'c', status: 'False', reason: '', message: '', lastTransitionTime: '' };
  const apply = {
    write: 'apply',
    news: ['c'],
    before: [],
    released: [],
    force: false,
    keepsAway: true,
    due: true,
    waiting: [],
  } as const;
  const taints = { add: [{ key: 'a', value: 'x', effect: 'NoSchedule' }], remove: ['b'], observed: [] };
  const set = { labels: { k: '1' }, annotations: { k: 'note' }, force: false };
  const keys = { labels: ['ready', 'k'], annotations: [] };

  test.each<[string, Parameters<typeof of>, [string | undefined, boolean][]]>([
    [
      'a label',
      [
        { write: 'set', set },
        { kind: 'label', key: 'k' },
      ],
      [['1', false]],
    ],
    [
      'an annotation',
      [
        { write: 'set', set },
        { kind: 'annotation', key: 'k' },
      ],
      [['note', false]],
    ],
    [
      'a label that is let go of',
      [
        { write: 'set', set },
        { kind: 'label', key: 'l' },
      ],
      [[undefined, false]],
    ],
    [
      'a label of a service that goes',
      [
        { write: 'withdraw', keys },
        { kind: 'label', key: 'ready' },
      ],
      [[undefined, true]],
    ],
    [
      'another label that goes',
      [
        { write: 'withdraw', keys },
        { kind: 'label', key: 'k' },
      ],
      [[undefined, false]],
    ],
    [
      'a taint that comes',
      [
        { write: 'taints', taints },
        { kind: 'taint', key: 'a' },
      ],
      [['x:NoSchedule', true]],
    ],
    [
      'a taint that goes',
      [
        { write: 'taints', taints },
        { kind: 'taint', key: 'b' },
      ],
      [[undefined, false]],
    ],
    [
      'a condition',
      [
        { write: 'conditions', conditions: { ...apply, conditions: [condition] } },
        { kind: 'condition', key: 'c' },
      ],
      [['False', true]],
    ],
    [
      'a condition that is True',
      [
        { write: 'conditions', conditions: { ...apply, conditions: [{ ...condition, status: 'True' }] } },
        { kind: 'condition', key: 'c' },
      ],
      [['True', false]],
    ],
    ['a key of another writer that is not in it', [{ write: 'set', set }, { kind: 'label', key: 'l' }, 'foreign'], []],
  ])('%s is remembered with what was wanted, and whether it keeps pods away', (_what, asked, expected) => {
    expect(of(...asked)).toEqual(expected);
  });
});

describe('of conditions', () => {
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: '',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const answer: Node = { metadata, status: { conditions: [condition('a', 'False'), condition('b', 'True')] } };
  const before = { ...seen, conditions: [condition('a', 'True'), condition('b', 'True'), condition('c', 'True')] };
  const change = (news: string[]) => ({
    write: 'apply' as const,
    conditions: [condition('a', 'False'), condition('b', 'Unknown'), condition('d', 'True')],
    news,
    before: [],
    released: [],
    force: false,
    keepsAway: false,
    due: true,
    waiting: [],
  });

  test('the news count, and keep pods away unless they are True', () => {
    expect(writtenKeys({ write: 'conditions', conditions: change(['a', 'b', 'd']) }, before, answer)).toEqual([
      { kind: 'condition', key: 'a', wanted: 'False', held: true, keepsAway: true },
      { kind: 'condition', key: 'b', wanted: 'Unknown', held: false, keepsAway: true },
      { kind: 'condition', key: 'd', wanted: 'True', held: false, keepsAway: false },
    ]);
    const { conditions } = change([]);
    const asBefore = { ...seen, conditions };
    expect(writtenKeys({ write: 'conditions', conditions: change(['a']) }, asBefore, answer)).toEqual([]);
  });

  test('those that go count, and keep no pods away', () => {
    const conditions = {
      write: 'remove' as const,
      conditions: [
        { type: 'a', index: 0 },
        { type: 'x', index: 1 },
      ],
    };
    expect(writtenKeys({ write: 'conditions', conditions }, seen, answer)).toEqual([
      { kind: 'condition', key: 'a', wanted: undefined, held: false, keepsAway: false },
      { kind: 'condition', key: 'x', wanted: undefined, held: true, keepsAway: false },
    ]);
  });

  test('what is only given up changes nothing', () => {
    expect(writtenKeys({ write: 'conditions', conditions: { write: 'disown', entry: 0 } }, seen, answer)).toEqual([]);
  });
});

test('a set lets go of what is ours and not in it', () => {
  const owned = { labels: new Set(['same', 'gone']), annotations: new Set(['note', 'kept']) };
  const set = { labels: { same: '1' }, annotations: { kept: '1' }, force: false };
  expect(setWrite.released?.({ write: 'set', set }, { ...seen, owned })).toEqual([
    { kind: 'label', key: 'gone' },
    { kind: 'annotation', key: 'note' },
  ]);
});

test('who else writes a key is told by managedFields', () => {
  const managedFields = [
    { manager: 'rollcall', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:k': {} } } } },
    { manager: 'argo', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:k': {} } }, 'f:spec': { 'f:taints': {} } } },
  ];
  const node: Node = { metadata: { ...metadata, managedFields } };
  expect(writersOf(node, { kind: 'label', key: 'k' })).toBe('argo');
  expect(writersOf(node, { kind: 'taint', key: 'any' })).toBe('argo');
  expect(writersOf(node, { kind: 'annotation', key: 'k' })).toBeUndefined();
});
