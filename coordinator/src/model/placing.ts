import { COMPONENT_LABEL } from '@rollcall/common/well-known.ts';
import { type LabelSelector, parseSelector } from './label-selector.ts';

/** Whose pods the scheduler extender places, and where they may go. */
export type Placing = {
  /**
   * Selects the pods that the scheduler extender places; all others pass on every node. If absent, it places no pod.
   */
  podSelector: LabelSelector | undefined;
  /** The services that have to be ready; defaults to the services of Gitpod. */
  services: readonly string[] | undefined;
  /** The nodes that the pods may go to; defaults to the nodes for workspaces of their kind. */
  nodeSelector: LabelSelector | undefined;
};

type PlacingOptions = {
  gitpod: boolean;
  schedulerPodSelector: string | undefined;
  schedulerServices: readonly string[] | undefined;
  schedulerNodeSelector: string | undefined;
};

/** Workspaces, as Gitpod labels their pods. */
const WORKSPACES: LabelSelector = { matchLabels: { [COMPONENT_LABEL]: 'workspace' } };

/** Selectors that were checked before. Without Gitpod, and without a selector, no pod is placed. */
export function placingOf(options: PlacingOptions): Placing {
  const { gitpod, schedulerPodSelector, schedulerServices, schedulerNodeSelector } = options;
  const own = gitpod ? WORKSPACES : undefined;
  return {
    podSelector: schedulerPodSelector === undefined ? own : parseSelector(schedulerPodSelector),
    services: schedulerServices,
    nodeSelector: schedulerNodeSelector === undefined ? undefined : parseSelector(schedulerNodeSelector),
  };
}
