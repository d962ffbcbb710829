import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { COMPONENT_LABEL } from '@rollcall/common/well-known.ts';
import type { Fleet } from './fleet/fleet.ts';
import { observePod } from './fleet/observed-pod.ts';
import { observeWorkspace } from './fleet/observed-workspace.ts';
import { observePoolLabelSet } from './fleet/pool-label-sets.ts';
import type { KubeClient } from './kube/client.ts';
import type { KubeMetrics } from './kube/kube-metrics.ts';
import type { NodePoolLabelSet, Pod, Workspace } from './kube/objects.ts';
import { createReflector, type Reflector, type ReflectorHandlers } from './kube/reflector.ts';
import { type ObservedWorkspacePod, observeWorkspacePod } from './scheduler/workspace-pods.ts';
import { componentSelector, type Service } from './services.ts';

export type WatchOptions = {
  client: KubeClient;
  fleet: Fleet;
  services: readonly Service[];
  /** Whether to watch whole Nodes, for their taints or resources. */
  wholeNodes: () => boolean;
  /** Namespace of the services' pods, and of the workspaces. */
  namespace: string;
  /** Who counts the pods of workspaces, if anybody does. */
  workspacePodHandlers: ReflectorHandlers<ObservedWorkspacePod> | undefined;
  /** Namespace of the NodePoolLabelSets. */
  poolNamespace: string;
  /** `system:serviceaccount:NAMESPACE:NAME`. */
  agentServiceAccount: string;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  logger: Logger;
  metrics: KubeMetrics;
  /** The Nodes are in view again, after that many milliseconds without contact. */
  onRecovered: (outageMs: number) => void;
};

export type Watches = {
  /** What `wholeNodes` says has changed. */
  relistNodes: () => void;
  /** Until the signal aborts. */
  run: () => Promise<void>;
  /** Resources that were not listed yet. */
  unsynced: () => string[];
  /** Nothing known from watches is older than a watch that works. */
  current: () => boolean;
};

const WORKSPACES_RELIST_MS = 300_000;
/** Pods of workspaces, as Gitpod labels them. */
const WORKSPACE_SELECTOR = `${COMPONENT_LABEL}=workspace`;

/** Watches everything that decisions are made of, one LIST and one WATCH a kind. */
export function createWatches(options: WatchOptions): Watches {
  const {
    fleet,
    services,
    wholeNodes,
    namespace,
    poolNamespace,
    agentServiceAccount,
    onRecovered,
    workspacePodHandlers,
    ...shared
  } = options;
  const [, , agentNamespace = '', agentAccount = ''] = agentServiceAccount.split(':');
  const nodes = createReflector({
    ...shared,
    path: '/api/v1/nodes',
    metadataOnly: () => !wholeNodes(),
    handlers: fleet.nodeHandlers,
    trim: (raw) => fleet.observe(raw),
    onRecovered,
  });
  const reflectors: Record<string, Reflector> = {
    nodes,
    'component pods': createReflector({
      ...shared,
      path: `/api/v1/namespaces/${namespace}/pods`,
      labelSelector: componentSelector(services),
      handlers: fleet.componentPodHandlers,
      trim: (raw) => observePod(raw as Pod),
    }),
    'agent pods': createReflector({
      ...shared,
      path: `/api/v1/namespaces/${agentNamespace}/pods`,
      fieldSelector: `spec.serviceAccountName=${agentAccount}`,
      handlers: fleet.agentPodHandlers,
      trim: (raw) => observePod(raw as Pod),
    }),
  };
  // What these say is for labels of pools, and for one annotation; all else goes on without them.
  const poolLabelSets = createReflector({
    ...shared,
    path: `/apis/labels.banzaicloud.io/v1alpha1/namespaces/${poolNamespace}/nodepoollabelsets`,
    absentIsEmpty: true,
    handlers: fleet.poolLabelSetHandlers,
    trim: (raw) => observePoolLabelSet(raw as NodePoolLabelSet),
  });
  const workspaces = createReflector({
    ...shared,
    path: `/apis/workspace.gitpod.io/v1/namespaces/${namespace}/workspaces`,
    absentIsEmpty: true,
    relistMs: WORKSPACES_RELIST_MS,
    handlers: fleet.workspaceHandlers,
    trim: (raw) => observeWorkspace(raw as Workspace),
  });
  const workspacePods = workspacePodHandlers
    ? createReflector({
        ...shared,
        path: `/api/v1/namespaces/${namespace}/pods`,
        labelSelector: WORKSPACE_SELECTOR,
        handlers: workspacePodHandlers,
        trim: (raw) => observeWorkspacePod(raw as Pod),
      })
    : undefined;
  // Without them, limits mean nothing.
  if (workspacePods) reflectors['workspace pods'] = workspacePods;
  const all = [...Object.values(reflectors), poolLabelSets, workspaces];
  return {
    relistNodes: () => nodes.relist(),
    run: async () => {
      await Promise.all(all.map((reflector) => reflector.run()));
    },
    current: () => Object.values(reflectors).every((each) => each.hasSynced() && !each.isFailing()),
    unsynced: () => Object.keys(reflectors).filter((name) => !reflectors[name]?.hasSynced()),
  };
}
