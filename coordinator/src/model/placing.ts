import { COMPONENT_LABEL } from '@rollcall/common/well-known.ts';
import { type LabelSelector, parseSelector } from './label-selector.ts';

/** Whose pods the scheduler extender places, and where they may go. */
export type Placing = {
  /** The pods of other namespaces pass on every node, too. */
  namespace: string;
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
  namespace: string;
  schedulerNamespace: string | undefined;
  gitpod: boolean;
  schedulerPodSelector: string | undefined;
  schedulerServices: readonly string[] | undefined;
  schedulerNodeSelector: string | undefined;
};

/** Workspaces, as Gitpod labels their pods. */
const WORKSPACES: LabelSelector = { matchLabels: { [COMPONENT_LABEL]: 'workspace' } };

/** Selectors that were checked before. Without Gitpod, and without a selector, no pod is placed. */
export function placingOf(options: PlacingOptions): Placing {
  const { namespace, schedulerNamespace, gitpod, schedulerPodSelector, schedulerServices, schedulerNodeSelector } =
    options;
  const own = gitpod ? WORKSPACES : undefined;
  return {
    namespace: schedulerNamespace ?? namespace,
    podSelector: schedulerPodSelector === undefined ? own : parseSelector(schedulerPodSelector),
    services: schedulerServices,
    nodeSelector: schedulerNodeSelector === undefined ? undefined : parseSelector(schedulerNodeSelector),
  };
}
