import { describe, expect, test } from 'vitest';
import { type ObservedPod, observePod, PodIndex } from './pod-index.ts';

function pod(change: Partial<ObservedPod> = {}): ObservedPod {
  const base = { uid: 'u1', namespace: 'default', name: 'ws-daemon', component: 'ws-daemon', node: 'a' };
  return { ...base, ready: true, terminating: false, podIP: '10.0.0.1', hostIP: '', ...change };
}

function index() {
  const changes: [string | undefined, string | undefined][] = [];
  const pods = new PodIndex((previous, next) => changes.push([previous?.uid, next?.uid]));
  return { pods, changes };
}

describe('the pod index', () => {
  test('finds pods by node, and forgets those that are gone', () => {
    const { pods } = index();
    pods.upsert(pod());
    expect(pods.on('a')).toHaveLength(1);
    pods.remove(pod());
    expect(pods.on('a')).toEqual([]);
  });

  test('keeps nothing of a pod whose successor of the same name is on another node', () => {
    const { pods, changes } = index();
    pods.upsert(pod());
    pods.replace([pod({ uid: 'u2', node: 'b' })]);
    expect(pods.on('a')).toEqual([]);
    expect(pods.on('b')).toHaveLength(1);
    expect(changes).toEqual([
      [undefined, 'u1'],
      ['u1', undefined],
      [undefined, 'u2'],
    ]);
  });

  test('says nothing about an event that changes nothing of what is kept', () => {
    const { pods, changes } = index();
    pods.upsert(pod());
    pods.upsert(pod());
    expect(changes).toHaveLength(1);
  });

  test('leaves out pods that are not bound to a node', () => {
    const { pods } = index();
    pods.upsert(pod({ node: '' }));
    expect([...pods.all()]).toEqual([]);
  });
});

test('a pod is ready by its condition, and terminating by its deletion timestamp', () => {
  const metadata = { name: 'p', uid: 'u', resourceVersion: '1', deletionTimestamp: '2026-01-01T00:00:00Z' };
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  expect(observePod({ metadata, status })).toMatchObject({ ready: true, terminating: true, node: '' });
});
