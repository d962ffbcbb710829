import type { LabelSelector } from '@rollcall/coordinator/model/label-selector.ts';
import type { Taint } from '@rollcall/coordinator/state/observed-node.ts';
import type { ObservedWorkspacePod } from '@rollcall/coordinator/state/observed-workspace.ts';
import type { Resources } from '@rollcall/coordinator/state/resources.ts';
import type { Load } from './assumptions.ts';

/** A service that workspaces need on their node. */
export type RequiredService = {
  name: string;
  /** What pods and agent say now; `unknown`: neither can tell, so the state that is shown counts. */
  state: 'ready' | 'not-ready' | 'unknown';
  /** Whether the Node's label or taint shows it as ready. */
  shown: boolean;
  /** The evidence, as a sentence for people. */
  reason: string;
  /** How often it became not ready in the last minutes. */
  falls: number;
};

/** The workspaces on a node, counted. */
export type NodeWorkspaces = {
  total: number;
  /** For each that is on its way up, until when it counts as starting at most; epoch milliseconds. */
  startingUntilMs: readonly number[];
  /** What they ask for together. */
  asked: Resources;
};

/** All that is known about a node when a pod asks for one. */
export type SchedulableNode = {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Its deletion was asked for. */
  deleting: boolean;
  /** `undefined` where they are not watched. */
  taints: readonly Taint[] | undefined;
  services: readonly RequiredService[];
  /** Its agent was heard lately. */
  fresh: boolean;
  /** `undefined` while they are unknown. */
  workspaces: NodeWorkspaces | undefined;
  /** `undefined` where it is not watched. */
  allocatable: Resources | undefined;
};

/** A node with those workspaces that will be on it as soon as the scheduler has acted on the last answers. */
export type NodeLoad = { node: SchedulableNode; starting: number; total: number; asked: Resources };

const NO_LOAD: Load = { pods: 0, cpu: 0, memory: 0 };

/** `assumed` is what is on its way. */
export function placeOn(node: SchedulableNode, nowMs: number, assumed: Load = NO_LOAD): NodeLoad {
  const { total = 0, startingUntilMs = [], asked = NO_LOAD } = node.workspaces ?? {};
  return {
    node,
    starting: startingUntilMs.filter((untilMs) => untilMs > nowMs).length + assumed.pods,
    total: total + assumed.pods,
    asked: { cpu: asked.cpu + assumed.cpu, memory: asked.memory + assumed.memory },
  };
}

/** What a node has to be like, and how many workspaces it takes, at least 1 each. */
export type Limits = {
  maxWorkspacesPerNode: number;
  maxStartingPerNode: number;
  /** Selects nodes by their labels; defaults to the label for workspaces of the pod's kind. */
  nodeSelector?: LabelSelector | undefined;
};

/** Keys of taints by which an autoscaler says that it is removing the node. */
const REMOVAL_TAINTS: ReadonlySet<string> = new Set([
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
  'karpenter.sh/disruption',
]);

export function removalTaint({ taints }: SchedulableNode): string | undefined {
  return taints?.find(({ key }) => REMOVAL_TAINTS.has(key))?.key;
}

/** A pod that loops in its start, or waits for an image, is not to close a node to others for longer. */
const STARTING_MS = 600_000;

/** Counts the workspaces' pods of one node. `wereReady`: uids of pods that were Ready once. */
export function countWorkspaces(
  pods: readonly ObservedWorkspacePod[],
  wereReady: ReadonlySet<string> = new Set(),
): NodeWorkspaces {
  const starting = pods.filter((pod) => pod.starting && !wereReady.has(pod.uid));
  const asked = { cpu: 0, memory: 0 };
  for (const { cpu, memory } of pods) {
    asked.cpu += cpu;
    asked.memory += memory;
  }
  return { total: pods.length, startingUntilMs: starting.map(({ sinceMs }) => sinceMs + STARTING_MS), asked };
}
