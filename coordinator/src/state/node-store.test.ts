import { describe, expect, test } from 'vitest';
import { createIntern } from './intern.ts';
import { type NodeChange, NodeStore } from './node-store.ts';
import { type ObservedNode, observeNode } from './observed-node.ts';

function nodeAt(resourceVersion: string, labels: Record<string, string> = {}, uid = 'u'): ObservedNode {
  return observeNode({ metadata: { name: 'n', uid, resourceVersion, labels } }, createIntern(), new Set());
}

function store() {
  const changes: NodeChange[] = [];
  const versions: string[] = [];
  const onVersion = (name: string) => versions.push(name);
  return { nodes: new NodeStore((change) => changes.push(change), onVersion), changes, versions };
}

describe('the node store', () => {
  test('does not let a late watch event undo what a write was answered with', () => {
    const { nodes } = store();
    nodes.upsert(nodeAt('98'));
    nodes.written(nodeAt('101', { ready: 'true' }));
    nodes.upsert(nodeAt('99'));
    expect(nodes.get('n')?.labels).toEqual({ ready: 'true' });
  });

  test('reports an event that changes nothing of ours only as another version', () => {
    const { nodes, changes, versions } = store();
    nodes.upsert(nodeAt('1', { a: 'b' }));
    nodes.upsert(nodeAt('1', { a: 'b' }));
    expect(versions).toEqual([]);
    nodes.upsert(nodeAt('2', { a: 'b' }));
    expect(changes).toHaveLength(1);
    expect(versions).toEqual(['n']);
    expect(nodes.get('n')?.resourceVersion).toBe('2');
  });

  test('does not bring back a deleted Node by the answer to a write', () => {
    const { nodes } = store();
    nodes.upsert(nodeAt('1'));
    nodes.remove('n');
    nodes.written(nodeAt('2'));
    expect(nodes.get('n')).toBeUndefined();
  });

  test('trusts a complete list even where its versions are lower, as after a restore of etcd', () => {
    const { nodes } = store();
    nodes.upsert(nodeAt('1000', { old: 'x' }));
    nodes.replace([nodeAt('500', { restored: 'x' })]);
    expect(nodes.get('n')?.labels).toEqual({ restored: 'x' });
    nodes.upsert(nodeAt('501', { restored: 'y' }));
    expect(nodes.get('n')?.labels).toEqual({ restored: 'y' });
  });

  test('keeps what a write was answered with while a list was under way that does not have it yet', () => {
    const { nodes, changes } = store();
    nodes.upsert(nodeAt('98'));
    nodes.listing();
    nodes.written(nodeAt('101', { ready: 'true' }));
    nodes.replace([nodeAt('100')]);
    expect(nodes.get('n')?.labels).toEqual({ ready: 'true' });
    expect(changes).toHaveLength(2);
    nodes.upsert(nodeAt('102', { ready: 'false' }));
    expect(nodes.get('n')?.labels).toEqual({ ready: 'false' });
  });

  test.each<[string, Partial<ObservedNode>]>([
    ['taints', { taints: [{ key: 'k', effect: 'NoSchedule' }] }],
    ['resources', { allocatable: { cpu: '1' } }],
    ['conditions', { conditions: [] }],
    ['declared features', { declared: new Map([['A', true]]) }],
    ['taints and conditions', { taints: [], conditions: [] }],
    ['all', { taints: [], allocatable: {}, conditions: [] }],
  ])(
    'does not keep what was known of a Node at an earlier version, such as its %s, where metadata does not tell',
    (_what, known) => {
      const { nodes } = store();
      nodes.upsert({ ...nodeAt('1'), ...known });
      nodes.upsert(nodeAt('2', { a: '1' }));
      expect(nodes.get('n')).toMatchObject({ resourceVersion: '2', labels: { a: '1' } });
      for (const key of Object.keys(known)) expect(nodes.get('n')?.[key as keyof ObservedNode]).toBeUndefined();
      nodes.upsert({ ...nodeAt('2', { a: '1' }), ...known });
      expect(nodes.get('n')).toMatchObject({ resourceVersion: '2', ...known });
    },
  );

  test('trusts the list where what was written is older than what is in it', () => {
    const { nodes } = store();
    nodes.upsert(nodeAt('98'));
    nodes.listing();
    nodes.written(nodeAt('101', { ready: 'true' }));
    nodes.replace([nodeAt('102', { ready: 'edited' })]);
    expect(nodes.get('n')?.labels).toEqual({ ready: 'edited' });
  });

  test('trusts a list that was requested after the write, even where its versions are lower', () => {
    const { nodes } = store();
    nodes.upsert(nodeAt('98'));
    nodes.listing();
    nodes.written(nodeAt('101', { ready: 'true' }));
    // That list failed.
    nodes.listing();
    nodes.replace([nodeAt('50')]);
    expect(nodes.get('n')?.labels).toEqual({});
    nodes.written(nodeAt('51', { ready: 'true' }));
    nodes.replace([nodeAt('40')]);
    expect(nodes.get('n')?.labels).toEqual({});
  });

  test('tells nothing of a Node that goes and was not known', () => {
    const { nodes, changes } = store();
    nodes.remove('n');
    expect(changes).toEqual([]);
  });

  test('reports Nodes that are missing from a new list', () => {
    const { nodes, changes } = store();
    nodes.upsert(nodeAt('1'));
    nodes.replace([]);
    expect(changes.at(-1)).toMatchObject({ name: 'n', previous: { uid: 'u' } });
    expect(nodes.size).toBe(0);
  });

  test('takes in a whole list and reports each Node, whichever of them its listener throws on', () => {
    const told: string[] = [];
    const nodes = new NodeStore(({ name }) => {
      told.push(name);
      if (name === 'a' || name === 'gone') throw new Error(`on purpose: ${name}`);
    });
    const named = (name: string): ObservedNode => ({ ...nodeAt('1'), name });
    expect(() => nodes.upsert(named('gone'))).toThrow('on purpose: gone');
    expect(() => nodes.replace(['a', 'b', 'c'].map(named))).toThrow(AggregateError);
    expect(told).toEqual(['gone', 'gone', 'a', 'b', 'c']);
    expect(nodes.names()).toEqual(['a', 'b', 'c']);
    // They are known, so that a list that is read again has no news to choke on.
    nodes.replace(['a', 'b', 'c'].map(named));
    expect(told).toHaveLength(5);
  });
});

test('a list is not taken for told where the listener threw on one Node', () => {
  const nodes = new NodeStore(() => {
    throw new Error('on purpose');
  });
  const onPurpose = expect.objectContaining({ message: 'on purpose' });
  expect(() => nodes.replace([nodeAt('1')])).toThrow(
    expect.objectContaining({ errors: [onPurpose], cause: onPurpose }),
  );
});

test('observing keeps our own keys of managedFields and drops the rest', () => {
  const managedFields = [
    {
      manager: 'kubelet',
      operation: 'Update' as const,
      fieldsV1: { 'f:metadata': { 'f:labels': { 'f:theirs': {} } } },
    },
    { manager: 'rollcall', operation: 'Update' as const, fieldsV1: { 'f:metadata': { 'f:labels': { 'f:no': {} } } } },
    {
      manager: 'rollcall',
      operation: 'Apply' as const,
      fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, 'f:ours': {} }, 'f:annotations': { 'f:note': {} } } },
    },
  ];
  const annotations = { note: '1', 'kubectl.kubernetes.io/last-applied-configuration': '{…}', asked: '2' };
  const metadata = { name: 'n', uid: 'u', resourceVersion: '1', labels: { ours: 'x' }, annotations, managedFields };
  const node = observeNode({ metadata }, createIntern(), new Set(['asked']));
  expect([...node.owned.labels]).toEqual(['ours']);
  expect([...node.owned.annotations]).toEqual(['note']);
  expect(node.annotations).toEqual({ note: '1', asked: '2' });
});
