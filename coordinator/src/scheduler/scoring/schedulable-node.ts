import type { LabelSelector } from '../../model/label-selector.ts';
import type { Taint } from '../../state/observed-node.ts';
import type { ObservedWorkspacePod } from '../../state/observed-workspace.ts';
import type { Resources } from '../../state/resources.ts';
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
  running: number;
  /** On their way up. */
  starting: number;
  /** The images of their containers. */
  images: ReadonlySet<string>;
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
export function placeOn(node: SchedulableNode, assumed: Load = NO_LOAD): NodeLoad {
  const { running = 0, starting = 0, asked = NO_LOAD } = node.workspaces ?? {};
  return {
    node,
    starting: starting + assumed.pods,
    total: running + starting + assumed.pods,
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

/** cluster-autoscaler thinks of removing the node, unless it is used. */
const REMOVAL_CANDIDATE_TAINT = 'DeletionCandidateOfClusterAutoscaler';

export function removalTaint({ taints }: SchedulableNode): string | undefined {
  return taints?.find(({ key }) => REMOVAL_TAINTS.has(key))?.key;
}

export function isRemovalCandidate({ taints }: SchedulableNode): boolean {
  return taints?.some(({ key }) => key === REMOVAL_CANDIDATE_TAINT) ?? false;
}

/** Counts the workspaces' pods of one node. */
export function countWorkspaces(pods: readonly ObservedWorkspacePod[]): NodeWorkspaces {
  const starting = pods.filter((pod) => pod.starting).length;
  const images = new Set(pods.flatMap((pod) => pod.images.split(' ').filter(Boolean)));
  const asked = { cpu: 0, memory: 0 };
  for (const { cpu, memory } of pods) {
    asked.cpu += cpu;
    asked.memory += memory;
  }
  return { running: pods.length - starting, starting, images, asked };
}
