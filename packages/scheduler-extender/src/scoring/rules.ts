import { WORKSPACE_NODE_LABELS } from '@rollcall/common/well-known.ts';
import { formatSelector, selects } from '@rollcall/coordinator/model/label-selector.ts';
import { type Limits, type NodeLoad, type RequiredService, removalTaint } from './schedulable-node.ts';
import type { SchedulingPod, WorkspaceKind } from './scheduling-pod.ts';

/**
 * Why a pod cannot go to a node. The message names neither the node nor anything else that differs from node to node
 * for the same reason: kube-scheduler counts nodes by it. The evidence is for those who ask about one node.
 */
type Objection = { message: string; evidence?: string };

/** A pod as far as rules look at it. */
type Asking = Pick<SchedulingPod, 'workspace'>;

type Rule = {
  name: string;
  objection: (kind: WorkspaceKind, place: NodeLoad, limits: Limits) => Objection | undefined;
};

/** A rule's objection to a pod on a node. */
export type Refusal = Objection & { rule: string };

const [REGULAR_LABEL = '', HEADLESS_LABEL = ''] = WORKSPACE_NODE_LABELS;

const LABELS_OF_KIND: Readonly<Record<WorkspaceKind, readonly string[]>> = {
  regular: [REGULAR_LABEL],
  headless: [HEADLESS_LABEL],
  any: WORKSPACE_NODE_LABELS,
};

/** The refusal of a node that this replica does not know; a moment later it may be known. */
const UNKNOWN_NODE: Refusal = {
  rule: 'unknown-node',
  message: 'the coordinator does not know this node (yet)',
};

/** In their order: the first that objects is the one that the scheduler is told. */
const FILTER_RULES: readonly Rule[] = [
  {
    name: 'deleting',
    objection: (_kind, { node }) => (node.deleting ? { message: 'the node is being deleted' } : undefined),
  },
  {
    name: 'scale-down',
    objection(_kind, { node }) {
      const key = removalTaint(node);
      return key === undefined ? undefined : { message: `the node is being removed by an autoscaler (taint ${key})` };
    },
  },
  {
    name: 'kind',
    objection(kind, { node }, { nodeSelector }) {
      if (nodeSelector && selects(nodeSelector, node.labels)) return undefined;
      if (nodeSelector)
        return { message: `the node does not match the selector for such pods (${formatSelector(nodeSelector)})` };
      if (LABELS_OF_KIND[kind].some((label) => Object.hasOwn(node.labels, label))) return undefined;
      const kinds = kind === 'any' ? '' : `${kind} `;
      return {
        message: `the node is not for ${kinds}workspaces (it has no label ${LABELS_OF_KIND[kind].join(' or ')})`,
      };
    },
  },
  {
    name: 'services',
    objection(_kind, { node }) {
      if (!node.services.some(isMissing)) return undefined;
      const missing = node.services.filter(isMissing);
      const names = missing.map(({ name }) => name);
      return {
        message: `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} not ready on the node`,
        evidence: missing.map(({ name, reason }) => `${name}: ${reason}`).join('; '),
      };
    },
  },
  {
    name: 'starting',
    objection(_kind, { starting }, { maxStartingPerNode }) {
      if (starting < maxStartingPerNode) return undefined;
      return {
        message: `the maximum number of workspaces is already starting on the node (${maxStartingPerNode})`,
        evidence: `${starting} are starting`,
      };
    },
  },
  {
    name: 'room',
    objection(_kind, { total }, { maxWorkspacesPerNode }) {
      if (total < maxWorkspacesPerNode) return undefined;
      return {
        message: `the node has no room for another workspace (at most ${maxWorkspacesPerNode})`,
        evidence: `${total} are on the node or on their way to it`,
      };
    },
  },
];

function isMissing({ state, shown }: RequiredService): boolean {
  return state === 'not-ready' || (state === 'unknown' && !shown);
}

/** The first rule that keeps a pod off a node; `undefined` where it may go. */
export function refusalOf({ workspace }: Asking, place: NodeLoad | undefined, limits: Limits): Refusal | undefined {
  if (workspace === undefined) return undefined;
  if (!place) return UNKNOWN_NODE;
  for (const rule of FILTER_RULES) {
    const objection = rule.objection(workspace, place, limits);
    if (objection) return { rule: rule.name, ...objection };
  }
  return undefined;
}

/** Every rule that keeps a pod off a node. */
export function refusalsOf({ workspace }: Asking, place: NodeLoad | undefined, limits: Limits): Refusal[] {
  if (workspace === undefined) return [];
  if (!place) return [UNKNOWN_NODE];
  return FILTER_RULES.flatMap((rule) => {
    const objection = rule.objection(workspace, place, limits);
    return objection ? [{ rule: rule.name, ...objection }] : [];
  });
}
