import { expect, test } from 'vitest';
import type { Pod } from '../kube/objects.ts';
import { observePod } from './observed-pod.ts';

const METADATA = { name: 'p', uid: 'u', resourceVersion: '1' };

test('a pod of which there is nothing but a name is nowhere, and is not Ready', () => {
  expect(observePod({ metadata: METADATA })).toEqual({
    uid: 'u',
    namespace: '',
    name: 'p',
    labels: {},
    tolerations: [],
    daemonSet: '',
    node: '',
    createdAtMs: 0,
    ready: false,
    readySinceMs: 0,
    terminating: false,
    podIP: '',
    hostIP: '',
    startTime: '',
  });
});

test('a pod is what it says', () => {
  const tolerations = [{ key: 'k', operator: 'Exists' as const }];
  const metadata = {
    ...METADATA,
    namespace: 'ns',
    labels: { a: '1' },
    creationTimestamp: '2026-01-01T00:00:00Z',
    deletionTimestamp: '2026-01-02T00:00:00Z',
  };
  const status = {
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:02Z' }],
    podIP: '10.0.0.1',
    hostIP: '10.0.0.2',
    startTime: '2026-01-01T00:00:01Z',
  };
  expect(observePod({ metadata, spec: { nodeName: 'n', tolerations }, status } as Pod)).toEqual({
    uid: 'u',
    namespace: 'ns',
    name: 'p',
    labels: { a: '1' },
    tolerations,
    daemonSet: '',
    node: 'n',
    createdAtMs: Date.UTC(2026, 0, 1),
    ready: true,
    readySinceMs: Date.UTC(2026, 0, 1, 0, 0, 2),
    terminating: true,
    podIP: '10.0.0.1',
    hostIP: '10.0.0.2',
    startTime: '2026-01-01T00:00:01Z',
  });
});

test.each([
  ['Ready', 'False'],
  ['Ready', 'Unknown'],
  ['ContainersReady', 'True'],
])('a pod with the condition %s %s is not Ready', (type, status) => {
  expect(observePod({ metadata: METADATA, status: { conditions: [{ type, status }] } } as Pod).ready).toBe(false);
});

test.each([
  [{ kind: 'DaemonSet', controller: true }, 'ds'],
  [{ kind: 'DaemonSet', controller: false }, ''],
  [{ kind: 'DaemonSet' }, ''],
  [{ kind: 'ReplicaSet', controller: true }, ''],
])('a pod with the owner %j is of the DaemonSet "%s"', (owner, daemonSet) => {
  const ownerReferences = [{ name: 'ds', ...owner }];
  expect(observePod({ metadata: { ...METADATA, ownerReferences } } as Pod).daemonSet).toBe(daemonSet);
});

test('pods with equal labels share them', () => {
  const seen = (value: string) => observePod({ metadata: { ...METADATA, labels: { a: value } } }).labels;
  expect(seen('x')).toBe(seen('x'));
  expect(seen('y')).toEqual({ a: 'y' });
});
