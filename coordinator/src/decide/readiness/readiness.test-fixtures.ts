import { TokenBucket } from '@rollcall/common/token-bucket.ts';
import { remember } from '../../model/inventory/device-memory.ts';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import type { ObservedCsiNode } from '../../state/csi-nodes.ts';
import { inventoryOf, type Machine } from '../../state/machines.ts';
import type { ObservedPod } from '../../state/observed-pod.ts';
import { mapOnDemand } from '../../state/on-demand-objects.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';

export const WS_DAEMON_SERVICE = serviceOf();
export const WS_DAEMON_LABEL = 'gitpod.io/ws-daemon_ready_ns_default';
export const WS_DAEMON_TAINT = 'gitpod.io/ws-daemon-not-ready';

export function pod(change: Partial<ObservedPod> = {}): ObservedPod {
  const name = change.name ?? 'ws-daemon-1';
  const base = {
    uid: name,
    namespace: 'default',
    name,
    daemonSet: '',
    tolerations: [],
    node: 'n',
    podIP: '10.1.0.1',
    hostIP: '10.0.0.7',
  };
  const labels = { component: 'ws-daemon' };
  return {
    ...base,
    labels,
    ready: true,
    terminating: false,
    startTime: '',
    createdAtMs: 0,
    readySinceMs: 0,
    ...change,
  };
}

const NOT_WATCHED = mapOnDemand(() => undefined);

/** A node whose CSINode lists these drivers; `undefined` where it has none. */
export function csiNode(
  drivers: readonly string[] | undefined,
  change: Partial<ObservedCsiNode> = {},
): Pick<NodeSnapshot, 'onDemand'> {
  const placed = { uid: 'c', namespace: '', name: 'n', node: 'n', nodeUid: 'u', storageProblems: new Map() };
  return { onDemand: { ...NOT_WATCHED, csiNodes: drivers ? [{ ...placed, drivers, ...change }] : [] } };
}

const NO_HOLDS = { pods: [], unknown: undefined };

/** A node whose agent says that ws-daemon is ready, or is not, and that nothing keeps. */
export function snapshot(change: Partial<NodeSnapshot> = {}, ready = true): NodeSnapshot & { holds: typeof NO_HOLDS } {
  const report = {
    name: 'ws-daemon',
    ready,
    since: '2026-01-01T00:00:00Z',
    evidence: 'tcp refused twice',
    digest: 'd',
  };
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
    ownedConditions: new Set(),
    allocatable: undefined,
    conditions: [],
    conditionWriters: new Map(),
    doubt: () => ({ sinceMs: undefined }),
    fault: () => undefined,
    silenceMs: 30_000,
    machine: undefined,
    onDemand: NOT_WATCHED,
    inventory: inventoryOf(
      {
        shown: change.machine && shown(change.machine),
        node: { name: 'n', uid: 'u', createdAtMs: 0, labels: {}, allocatable: change.allocatable, declared: undefined },
        ...NOT_WATCHED,
      },
      0,
    ),
    agentVersion: '',
    pool: undefined,
    poolLabelSet: undefined,
    otherPools: [],
    otherPoolLabelSets: [],
    poolLabelSetsKnown: true,
    freshness: { state: 'fresh' },
    services: new Map([['ws-daemon', report]]),
    pods: [pod()],
    podsKnown: () => true,
    servicesKnown: true,
    assignedMs: new Map(),
    workspaces: undefined,
    holds: NO_HOLDS,
    ...change,
  };
}

function shown(machine: Machine) {
  return {
    machine,
    devices: remember(undefined, machine.devices, 0),
    changes: new TokenBucket({ burst: 1, intervalMs: 1 }),
  };
}
