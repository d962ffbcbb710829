import { describe, expect, test } from 'vitest';
import type { Node } from '../kube/objects.ts';
import { emptyRecord, type ObservedNode, observeNode, sameObservation } from './observed-node.ts';

const METADATA = { name: 'n', uid: 'u', resourceVersion: '7' };

function observe(node: Omit<Partial<Node>, 'metadata'> & { metadata?: object }, of: string[] = [], all = false) {
  const whole = { ...node, metadata: { ...METADATA, ...node.metadata } } as Node;
  return observeNode(whole, (text) => text, new Set(of), all);
}

function entry(manager: string, fields: Record<string, string[]>, change: object = {}) {
  const metadata = Object.entries(fields).map(([name, keys]) => [
    `f:${name}`,
    { '.': {}, ...Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
  ]);
  const fieldsV1 = { 'f:metadata': Object.fromEntries(metadata) };
  return { manager, operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1, ...change };
}

describe('a Node', () => {
  test('of which there is nothing but a name has nothing', () => {
    expect(observe({})).toEqual({
      ...METADATA,
      createdAtMs: 0,
      deleting: false,
      labels: {},
      annotations: {},
      unannotated: true,
      owned: { labels: new Set(), annotations: new Set() },
      shared: new Set(),
      inherited: new Set(),
      conditionOwners: expect.anything(),
    });
  });

  test('has the creation time of its metadata, and is deleting once it has a deletion time', () => {
    const creationTimestamp = '2026-01-01T00:00:00Z';
    const { createdAtMs, deleting } = observe({
      metadata: { creationTimestamp, deletionTimestamp: creationTimestamp },
    });
    expect([createdAtMs, deleting]).toEqual([Date.UTC(2026, 0, 1), true]);
    expect(observe({ metadata: { creationTimestamp: 'yesterday' } }).createdAtMs).toBe(0);
  });

  test('keeps its labels, also one with the name of what every object has', () => {
    const { labels } = observe({ metadata: { labels: { a: '1', constructor: 'x' } } });
    expect({ ...labels }).toEqual({ a: '1', constructor: 'x' });
    expect(labels['toString']).toBeUndefined();
  });

  test('keeps the annotations that are asked for, our own, or all', () => {
    const metadata = {
      annotations: { asked: '1', ours: '2', other: '3' },
      managedFields: [entry('rollcall', { annotations: ['ours'] })],
    };
    expect({ ...observe({ metadata }, ['asked']).annotations }).toEqual({ asked: '1', ours: '2' });
    expect({ ...observe({ metadata }, [], true).annotations }).toEqual(metadata.annotations);
    expect(observe({ metadata })).not.toHaveProperty('unannotated');
  });

  test('has no taints where there are none, and unknown ones where only metadata is watched', () => {
    const taints = [{ key: 'k', effect: 'NoSchedule' as const }];
    expect(observe({ spec: { taints } }).taints).toEqual(taints);
    expect(observe({ spec: {} }).taints).toEqual([]);
    expect(observe({})).not.toHaveProperty('taints');
  });

  test('declares of the features that are asked for those in its status, and unknown ones where only metadata is watched', () => {
    const declared = (status: Node['status'], features?: string[]) => {
      const node: Node = { metadata: METADATA, ...(status ? { status } : {}) };
      return observeNode(node, (text) => text, new Set(), false, features).declared;
    };
    const declaredFeatures = ['A', 'B'];
    expect(declared({ declaredFeatures }, ['B', 'C'])).toEqual(new Map(Object.entries({ B: true, C: false })));
    expect(declared({}, ['B'])).toEqual(new Map([['B', false]]));
    expect(declared({ declaredFeatures })).toEqual(new Map());
    expect(declared(undefined, ['B'])).toBeUndefined();
  });

  test('has no resources where there are none, and unknown ones where only metadata is watched', () => {
    expect(observe({ status: { allocatable: { cpu: '1' } } }).allocatable).toEqual({ cpu: '1' });
    expect(observe({ status: {} })).toMatchObject({ allocatable: {}, conditions: [] });
    expect(observe({})).not.toHaveProperty('allocatable');
    expect(observe({})).not.toHaveProperty('conditions');
  });
});

describe('a key of a Node', () => {
  const owned = (...managedFields: object[]) => observe({ metadata: { managedFields } }).owned;

  test('is ours by our own apply, and by nothing else', () => {
    expect(owned(entry('rollcall', { labels: ['a', 'b'], annotations: ['c'] }))).toEqual({
      labels: new Set(['a', 'b']),
      annotations: new Set(['c']),
    });
    const none = { labels: new Set(), annotations: new Set() };
    expect(owned(entry('other', { labels: ['a'] }))).toEqual(none);
    expect(owned(entry('rollcall', { labels: ['a'] }, { operation: 'Update' }))).toEqual(none);
    expect(owned(entry('rollcall', { labels: ['a'] }, { subresource: 'status' }))).toEqual(none);
    expect(owned(entry('rollcall', {}, { fieldsV1: {} }))).toEqual(none);
    expect(owned(entry('rollcall', {}, { fieldsV1: { 'f:metadata': { 'f:labels': { '.': {} } } } }))).toEqual(none);
  });

  test('is shared when another manager owns it as well, or rollcall by another operation than its apply', () => {
    const ours = entry('rollcall', { labels: ['a', 'b'] });
    const shared = (...others: object[]) => observe({ metadata: { managedFields: [ours, ...others] } }).shared;
    expect(shared()).toEqual(new Set());
    expect(shared(entry('other', { labels: ['c'] }), entry('other', { annotations: ['a'] }))).toEqual(new Set());
    expect(shared(entry('other', { labels: ['b', 'c'] }))).toEqual(new Set(['b']));
    expect(shared(entry('rollcall', { labels: ['a'] }, { operation: 'Update' }))).toEqual(new Set(['a']));
    const managedFields = [entry('rollcall', { labels: ['a'] }), entry('other', { labels: ['a'] })];
    expect(observe({ metadata: { managedFields } }).shared).toEqual(new Set(['a']));
  });

  test('has no owner where managedFields were reset, and is ours where it is listed', () => {
    const annotations = { 'rollcall.dev/keys': '{"label:a":"device","label:b":"rule","label:gone":"rule"}' };
    const labels = { a: '1', b: '1', c: '1' };
    const ownerless = (...managedFields: object[]) =>
      observe({ metadata: { labels, annotations, managedFields } }, ['rollcall.dev/keys']).ownerless;
    expect(ownerless()).toEqual(new Set(['a', 'b']));
    expect(ownerless(entry('nfd', { labels: ['b', 'c'] }))).toEqual(new Set(['a']));
    const before = entry('before-first-apply', { labels: ['a', 'b', 'c'] }, { operation: 'Update' });
    expect(ownerless(before, entry('rollcall', { labels: ['a', 'b'] }))).toEqual(new Set(['a', 'b']));
    expect(ownerless(entry('rollcall', { labels: ['a', 'b'] }))).toBeUndefined();
  });

  test('is inherited when the predecessor wrote it, and no manager besides it but rollcall', () => {
    const inherited = (...managers: string[]) => {
      const managedFields = managers.map((manager) => entry(manager, { annotations: ['k'] }));
      return observe({ metadata: { managedFields } }, ['k', 'l']).inherited;
    };
    expect(inherited()).toEqual(new Set());
    expect(inherited('node-labeler')).toEqual(new Set(['k']));
    expect(inherited('node-labeler', 'rollcall')).toEqual(new Set(['k']));
    expect(inherited('node-labeler', 'kubectl')).toEqual(new Set());
    expect(inherited('rollcall')).toEqual(new Set());
  });
});

describe('two sights of a Node', () => {
  const base: ObservedNode = {
    ...METADATA,
    createdAtMs: 0,
    labels: { a: '1' },
    annotations: { b: '2' },
    owned: { labels: new Set(['a']), annotations: new Set(['b']) },
    shared: new Set(['a']),
    inherited: new Set(['b']),
    taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }],
    allocatable: { cpu: '1' },
    declared: new Map([['A', true]]),
    conditions: [],
  };

  test('are the same whatever their versions are, and where nothing stands for none', () => {
    expect(sameObservation(base, { ...structuredClone(base), resourceVersion: '8', deleting: false })).toBe(true);
    const { taints, shared, ...bare } = base;
    expect(sameObservation(bare, { ...bare, taints: [], shared: new Set() })).toBe(true);
  });

  test.each<[string, Partial<ObservedNode>]>([
    ['uid', { uid: 'other' }],
    ['deletion', { deleting: true }],
    ['value of a label', { labels: { a: '2' } }],
    ['key of a label', { labels: { b: '1' } }],
    ['number of labels', { labels: { a: '1', b: '1' } }],
    ['annotation', { annotations: {} }],
    ['owned label', { owned: { labels: new Set(['b']), annotations: new Set(['b']) } }],
    ['owned annotation', { owned: { labels: new Set(['a']), annotations: new Set() } }],
    ['inherited annotation', { inherited: new Set() }],
    ['shared label', { shared: new Set() }],
    ['key of a taint', { taints: [{ key: 'l', value: 'v', effect: 'NoSchedule' }] }],
    ['value of a taint', { taints: [{ key: 'k', value: 'w', effect: 'NoSchedule' }] }],
    ['effect of a taint', { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] }],
    ['number of taints', { taints: [] }],
    [
      'condition',
      { conditions: [{ type: 't', status: 'True', reason: '', message: '', lastTransitionTime: '', index: 0 }] },
    ],
    ['resource', { allocatable: { cpu: '2' } }],
    ['declared feature', { declared: new Map([['A', false]]) }],
    ['name of a feature', { declared: new Map([['B', true]]) }],
    [
      'number of features',
      {
        declared: new Map([
          ['A', true],
          ['B', true],
        ]),
      },
    ],
    ['knowledge of resources', { allocatable: undefined }],
  ])('differ by a %s', (_what, change) => {
    expect(sameObservation(base, { ...base, ...change })).toBe(false);
    expect(sameObservation({ ...base, ...change }, base)).toBe(false);
  });

  test('differ where resources that are not known are known to be none', () => {
    const { allocatable, ...unknown } = base;
    expect(sameObservation(unknown, { ...unknown, allocatable: {} })).toBe(false);
  });
});

test('an empty record has not even what every object inherits', () => {
  expect([emptyRecord(), 'constructor' in emptyRecord()]).toEqual([{}, false]);
});
