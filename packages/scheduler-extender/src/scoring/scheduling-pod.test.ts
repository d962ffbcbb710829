import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WORKSPACES } from './scheduler.test-fixtures.ts';
import { readSchedulingPod } from './scheduling-pod.ts';

const read = (pod: unknown, change = {}) => readSchedulingPod(pod, { ...WORKSPACES, ...change });

function kind(labels: Record<string, unknown>) {
  return read({ metadata: { namespace: 'default', labels: { component: 'workspace', ...labels } } }).workspace;
}

test.each([
  [{ headless: 'false', workspaceType: 'regular' }, 'regular'],
  [{ headless: 'true', workspaceType: 'prebuild' }, 'headless'],
  [{ headless: 'true', workspaceType: 'imagebuild' }, 'headless'],
  [{ headless: 'true' }, 'headless'],
  [{ workspaceType: 'prebuild' }, 'headless'],
  [{ workspaceType: 'ImageBuild' }, 'headless'],
  [{ workspaceType: 'headless' }, 'headless'],
  [{ workspaceType: 'regular' }, 'regular'],
  [{ headless: 'false' }, 'regular'],
  [{ workspaceType: 'constructor' }, 'any'],
  [{}, 'any'],
])('a workspace with %j is %s', (labels, expected) => {
  expect(kind(labels)).toBe(expected);
});

test('a pod of another component, or of none, is no workspace', () => {
  expect(read({ metadata: { labels: { component: 'ws-daemon' } } }).workspace).toBeUndefined();
  expect(read({ metadata: { labels: null } }).workspace).toBeUndefined();
  expect(read({}).workspace).toBeUndefined();
});

test('whose pods are placed is a matter of a selector, and of kinds only where nodes go by kind', () => {
  const pod = { metadata: { namespace: 'default', labels: { app: 'build', headless: 'true', odd: 7 } } };
  const podSelector = { matchLabels: { app: 'build' } };
  expect(read(pod).workspace).toBeUndefined();
  expect(read(pod, { podSelector }).workspace).toBe('headless');
  expect(read(pod, { podSelector, nodeSelector: { matchLabels: { pool: 'builds' } } }).workspace).toBe('any');
  expect(read(pod, { podSelector: undefined }).workspace).toBeUndefined();
});

test('a pod is read with what it asks for', () => {
  const containers = [{ resources: { requests: { cpu: '500m', memory: '1Ki' } } }];
  expect(read({ spec: { containers } }).asks).toEqual({ cpu: 0.5, memory: 1024 });
});

test('a pod of another namespace is placed no more than one with other labels', () => {
  const labels = { component: 'workspace' };
  expect(read({ metadata: { namespace: 'other', labels } }).workspace).toBeUndefined();
  expect(read({ metadata: { labels } }).workspace).toBeUndefined();
  expect(read({ metadata: { namespace: 'other', labels } }, { namespace: 'other' }).workspace).toBe('any');
});

test('a pod is read with its uid, or what it is called where it has none', () => {
  const metadata = { uid: 'u', namespace: 'default', name: 'ws-1' };
  expect(read({ metadata })).toMatchObject({ id: 'u', namespace: 'default', name: 'ws-1' });
  expect(read({ metadata: { namespace: 'x', name: 'y' } }).id).toBe('x/y');
});

test('whatever JSON it is, a pod can be read', () => {
  const hostile = fc.record(
    {
      metadata: fc.oneof(fc.jsonValue(), fc.record({ labels: fc.jsonValue(), name: fc.jsonValue() })),
      spec: fc.oneof(fc.jsonValue(), fc.record({ containers: fc.jsonValue() })),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), hostile), (json) => {
      const { id, asks } = read(json);
      expect([typeof id, asks.cpu >= 0]).toEqual(['string', true]);
    }),
    { numRuns: 2000 },
  );
});
