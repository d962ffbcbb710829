import { REGISTRY_FACADE, readyLabel, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { Placing } from '@rollcall/coordinator/model/placing.ts';
import type { Load } from './assumptions.ts';
import type { Limits, RequiredService, SchedulableNode } from './schedulable-node.ts';
import type { SchedulingPod } from './scheduling-pod.ts';

export const REGULAR = 'gitpod.io/workload_workspace_regular';
export const HEADLESS = 'gitpod.io/workload_workspace_headless';
export const REGISTRY_FACADE_LABEL = readyLabel(REGISTRY_FACADE, 'default');
export const WS_DAEMON_LABEL = readyLabel(WS_DAEMON, 'default');

const ASKS = { cpu: 1, memory: 1024 ** 3 };

/** So many pods on their way. */
export function load(pods: number): Load {
  return { pods, cpu: pods * ASKS.cpu, memory: pods * ASKS.memory };
}

/** Gitpod's workspaces, as it is by default. */
export const WORKSPACES: Placing = {
  namespace: 'default',
  podSelector: { matchLabels: { component: 'workspace' } },
  services: undefined,
  nodeSelector: undefined,
};

export const LIMITS: Limits = { maxWorkspacesPerNode: 10, maxStartingPerNode: 3 };

export function service(change: Partial<RequiredService> = {}): RequiredService {
  return { name: WS_DAEMON, state: 'ready', shown: true, reason: 'pod ws-daemon-1 is Ready', falls: 0, ...change };
}

/** A node that takes workspaces of either kind. */
export function node(change: Partial<SchedulableNode> = {}): SchedulableNode {
  return {
    name: 'n1',
    labels: { [REGULAR]: 'true', [HEADLESS]: 'true' },
    deleting: false,
    taints: [],
    services: [service({ name: REGISTRY_FACADE }), service()],
    fresh: true,
    workspaces: { total: 0, startingUntilMs: [], asked: { cpu: 0, memory: 0 } },
    allocatable: undefined,
    ...change,
  };
}

/** So many workspaces that run, and of those that start; each asks for as much as `workspacePod`. */
export function busy(running: number, starting = 0): Pick<SchedulableNode, 'workspaces'> {
  const count = running + starting;
  const asked = { cpu: count * ASKS.cpu, memory: count * ASKS.memory };
  const startingUntilMs = Array.from({ length: starting }, () => Number.POSITIVE_INFINITY);
  return { workspaces: { total: count, startingUntilMs, asked } };
}

export function workspacePod(change: Partial<SchedulingPod> = {}): SchedulingPod {
  const name = change.name ?? 'ws-1';
  const base = { id: name, namespace: 'default', name, workspaceType: 'regular', asks: ASKS };
  return { ...base, workspace: 'regular', ...change };
}
