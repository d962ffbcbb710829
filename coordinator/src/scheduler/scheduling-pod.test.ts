import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSchedulingPod } from './scheduling-pod.ts';

function kind(labels: Record<string, unknown>) {
  return readSchedulingPod({ metadata: { labels: { component: 'workspace', ...labels } } }).workspace;
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
  expect(readSchedulingPod({ metadata: { labels: { component: 'ws-daemon' } } }).workspace).toBeUndefined();
  expect(readSchedulingPod({ metadata: { labels: null } }).workspace).toBeUndefined();
  expect(readSchedulingPod({}).workspace).toBeUndefined();
});

test('a pod is read with the images of its containers', () => {
  const pod = {
    metadata: { uid: 'u', namespace: 'default', name: 'ws-1', labels: { component: 'workspace' } },
    spec: { containers: [{ image: 'a' }, { image: null }, null, { image: 'b' }], initContainers: [{ image: 'c' }] },
  };
  expect(readSchedulingPod(pod)).toMatchObject({ id: 'u', namespace: 'default', name: 'ws-1', images: ['a', 'b'] });
  expect(readSchedulingPod({ metadata: { namespace: 'x', name: 'y' } }).id).toBe('x/y');
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
      const pod = readSchedulingPod(json);
      expect(pod.images.every((image) => typeof image === 'string')).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
