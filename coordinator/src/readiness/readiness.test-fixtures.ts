import type { ObservedPod } from '../fleet/observed-pod.ts';
import type { NodeSnapshot } from '../fleet/snapshot.ts';
import type { Service } from '../services.ts';

export const WS_DAEMON_SERVICE: Service = {
  name: 'ws-daemon',
  component: 'ws-daemon',
  label: 'gitpod.io/ws-daemon_ready_ns_default',
  taint: 'gitpod.io/ws-daemon-not-ready',
  port: 8080,
  address: 'pod',
};

export function pod(change: Partial<ObservedPod> = {}): ObservedPod {
  const name = change.name ?? 'ws-daemon-1';
  const base = { uid: name, namespace: 'default', name, component: 'ws-daemon', node: 'n', podIP: '', hostIP: '' };
  return { ...base, ready: true, terminating: false, startTime: '', ...change };
}

/** A node whose agent says that ws-daemon is ready, or is not. */
export function snapshot(change: Partial<NodeSnapshot> = {}, ready = true): NodeSnapshot {
  const report = { name: 'ws-daemon', ready, since: '2026-01-01T00:00:00Z', evidence: 'tcp refused twice' };
  return {
    name: 'n',
    uid: 'u',
    createdAtMs: 0,
    labels: {},
    annotations: {},
    taints: undefined,
    ownedAnnotations: new Set(),
    ownedLabels: new Set(),
    sharedLabels: new Set(),
    allocatable: undefined,
    machine: undefined,
    pool: undefined,
    poolLabelSet: undefined,
    poolLabelSetsKnown: true,
    freshness: { state: 'fresh' },
    services: new Map([['ws-daemon', report]]),
    pods: [pod()],
    workspaces: undefined,
    ...change,
  };
}
