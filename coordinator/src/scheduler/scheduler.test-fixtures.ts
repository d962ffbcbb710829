import { REGISTRY_FACADE, readyLabel, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { Limits, RequiredService, SchedulableNode } from './schedulable-node.ts';
import type { SchedulingPod } from './scheduling-pod.ts';

export const REGULAR = 'gitpod.io/workload_workspace_regular';
export const HEADLESS = 'gitpod.io/workload_workspace_headless';
export const REGISTRY_FACADE_LABEL = readyLabel(REGISTRY_FACADE, 'default');
export const WS_DAEMON_LABEL = readyLabel(WS_DAEMON, 'default');

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
    workspaces: { running: 0, starting: 0, images: new Set() },
    images: undefined,
    ...change,
  };
}

/** So many workspaces that run, and of those that start. */
export function busy(running: number, starting = 0, images: string[] = []): Pick<SchedulableNode, 'workspaces'> {
  return { workspaces: { running, starting, images: new Set(images) } };
}

export function workspacePod(change: Partial<SchedulingPod> = {}): SchedulingPod {
  const name = change.name ?? 'ws-1';
  const base = { id: name, namespace: 'default', name, workspaceType: 'regular', images: ['img'] };
  return { ...base, workspace: 'regular', ...change };
}
