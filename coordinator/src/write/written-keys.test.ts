import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import type { Node } from '../kube/objects.ts';
import { ContestedKeys } from './contested-keys.ts';
import { releasedKeys } from './key-sets.ts';
import { triedKeys, uncontestedTaints, writersOf, writtenKeys } from './written-keys.ts';

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

test('a label that was refused as foreign counts as a try that keeps no pods away; a condition does not count', () => {
  const set = { labels: { k: '1', l: '1' }, annotations: { k: 'note' }, force: false };
  const foreign = [
    { ref: { kind: 'label', key: 'k' }, owner: 'x' },
    { ref: { kind: 'annotation', key: 'k' }, owner: 'x' },
    { ref: { kind: 'condition', key: 'k' }, owner: 'x' },
  ] as const;
  expect(triedKeys(set, foreign)).toEqual([
    { kind: 'label', key: 'k', wanted: '1', held: true, keepsAway: false },
    { kind: 'annotation', key: 'k', wanted: 'note', held: true, keepsAway: false },
  ]);
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
  const change = (news: string[]) => ({
    write: 'apply' as const,
    conditions: [condition('a', 'False'), condition('b', 'Unknown'), condition('d', 'True')],
    news,
    before: [],
    force: false,
    keepsAway: false,
    due: true,
    waiting: [],
  });

  test('the news count, and keep pods away unless they are True', () => {
    expect(writtenKeys({ write: 'conditions', conditions: change(['a', 'b', 'd']) }, seen, answer)).toEqual([
      { kind: 'condition', key: 'a', wanted: 'False', held: true, keepsAway: true },
      { kind: 'condition', key: 'b', wanted: 'Unknown', held: false, keepsAway: true },
      { kind: 'condition', key: 'd', wanted: 'True', held: false, keepsAway: false },
    ]);
    expect(writtenKeys({ write: 'conditions', conditions: change([]) }, seen, answer)).toEqual([]);
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
  expect(releasedKeys(set, { ...seen, owned })).toEqual([
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

test('what a Node lists of services changes alone where no taint does, and not ahead of one that must wait', () => {
  const node = { name: 'n', uid: 'u', resourceVersion: '2' };
  const serviceKeys = { before: '{"taints":["a"]}', after: undefined };
  const contested = new ContestedKeys(new FakeClock());
  const listOnly = { add: [], remove: [], observed: [], serviceKeys };
  expect(uncontestedTaints(node, listOnly, contested)).toEqual(listOnly);
  const fight = { kind: 'taint', key: 'a', wanted: undefined, held: false, keepsAway: false } as const;
  contested.wrote(node, [fight]);
  expect(uncontestedTaints(node, { ...listOnly, remove: ['a'] }, contested)).toBeUndefined();
});

test('a taint that replaces one with another effect stays contested when its time has come', async () => {
  const node = { name: 'n', uid: 'u', resourceVersion: '2' };
  const clock = new FakeClock();
  const contested = new ContestedKeys(clock);
  const change = { add: [{ key: 'a', value: 'x', effect: 'NoExecute' as const }], remove: ['a'], observed: [] };
  contested.wrote(node, [{ kind: 'taint', key: 'a', wanted: 'x:NoExecute', held: false, keepsAway: false }]);
  expect(uncontestedTaints(node, change, contested)).toBeUndefined();
  await clock.advance(contested.keysFor('n')[0]?.nextTryMs ?? 0);
  expect(uncontestedTaints(node, change, contested)).toEqual(change);
  expect(contested.keysFor('n')).toHaveLength(1);
});
