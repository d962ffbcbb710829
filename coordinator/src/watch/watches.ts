import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { WATCHED } from '@rollcall/common/watched-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeMetrics } from '../kube/kube-metrics.ts';
import type { KubeObject, NodeHold, NodePoolLabelSet, NodeService, Pod, Workspace } from '../kube/objects.ts';
import {
  createReflector,
  type Reflector,
  type ReflectorOptions,
  type ResourceEventHandler,
} from '../kube/reflector.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { formatSelector } from '../model/label-selector.ts';
import { needs, type Service } from '../model/services.ts';
import type { Fleet } from '../state/fleet.ts';
import { type HoldingPod, observeHoldingPod } from '../state/holds/holding-pod.ts';
import type { Holds } from '../state/holds/holds.ts';
import { type ObservedNodeHold, observeNodeHold } from '../state/holds/node-hold.ts';
import { eventHandlersOf, type OnNode } from '../state/node-indexer.ts';
import { NOT_ENDED, observePod } from '../state/observed-pod.ts';
import { type ObservedWorkspacePod, observeWorkspace, observeWorkspacePod } from '../state/observed-workspace.ts';
import {
  mapOnDemand,
  ON_DEMAND,
  type OnDemandCollection,
  type OnDemandName,
  type OnDemandRow,
} from '../state/on-demand-objects.ts';
import { observePoolLabelSet, POOL_LABEL_KINDS, POOL_LABEL_RESOURCES } from '../state/pool-label-sets.ts';
import { type ObservedNodeService, observeNodeService } from '../state/services/node-service.ts';
import { notPermitted, PodWatches, REFUSED_RETRY_MS, unlessStopped, watchOf } from './pod-watches.ts';
import { ServiceWatches } from './service-watches.ts';

type OnDemandWatchOptions<T extends OnNode> = Omit<ReflectorOptions<T>, 'handlers' | 'transform'> & {
  collection: OnDemandCollection<T>;
  /** Keeps of an object what is asked for by these names. */
  observe: (raw: KubeObject, names: readonly string[]) => T;
};

/** Watches a resource while rules or services ask for it. Where it cannot be listed, nothing is known of it. */
export class OnDemandWatch<T extends OnNode> {
  readonly #options: OnDemandWatchOptions<T>;
  #isRunning = false;
  #asked: readonly string[] | undefined;
  #stop: AbortController | undefined;
  #reflector: Reflector | undefined;

  constructor(options: OnDemandWatchOptions<T>) {
    this.#options = options;
  }

  run(): void {
    this.#isRunning = true;
    this.#begin();
  }

  /** Sets which features of each object are kept, by name; `undefined` ends the watch. Other names are listed anew. */
  want(asked: readonly string[] | undefined): void {
    if (JSON.stringify(asked) === JSON.stringify(this.#asked)) return;
    this.#asked = asked;
    this.#stop?.abort();
    this.#reflector = undefined;
    this.#options.collection.forget();
    if (this.#isRunning) this.#begin();
  }

  relist(olderThanMs: number): void {
    this.#reflector?.relist(olderThanMs);
  }

  /** Whether it may not be watched, for want of rights. */
  isRefused(): boolean {
    return this.#reflector?.isRefused() === true;
  }

  #begin(): void {
    const asked = this.#asked;
    if (!asked) return;
    const stop = new AbortController();
    this.#stop = stop;
    const { collection, observe, ...shared } = this.#options;
    const reflector = createReflector<T>({
      ...shared,
      signal: AbortSignal.any([shared.signal, stop.signal]),
      handlers: unlessStopped(eventHandlersOf(collection), stop.signal),
      transform: (raw) => observe(raw, asked),
    });
    this.#reflector = reflector;
    void reflector.run();
  }
}

type HoldWatchOptions = Omit<ReflectorOptions<never>, 'path' | 'handlers'> & { holds: Holds };

/** Watches the NodeHolds, and of the pods that they name those that have not ended. */
export class HoldWatches {
  readonly #holds: Holds;
  /** The reflector of the NodeHolds. */
  readonly objects: Reflector;
  readonly #pods: PodWatches<HoldingPod>;

  constructor({ holds, ...shared }: HoldWatchOptions) {
    this.#holds = holds;
    this.objects = createReflector({
      ...shared,
      ...watchOf(WATCHED.nodeHolds),
      handlers: holds.handlers,
      transform: (raw) => observeNodeHold(raw as NodeHold),
    });
    this.#pods = new PodWatches({
      ...shared,
      index: holds.pods,
      fieldSelector: NOT_ENDED,
      observe: observeHoldingPod,
    });
  }

  /** Until the signal aborts. */
  run(): Promise<void> {
    this.#pods.run();
    return this.objects.run();
  }

  relist(olderThanMs: number): void {
    for (const each of [this.objects, this.#pods]) each.relist(olderThanMs);
  }

  /** The NodeHolds are others than before. */
  update(): void {
    this.#pods.want(this.#holds.wanted());
  }

  /** Why nothing is known of the pods of a NodeHold; for people. */
  problemOf({ pods }: ObservedNodeHold): string | undefined {
    return pods && this.#pods.problemOf(pods.namespace);
  }
}

export type WatchOptions = {
  config: Pick<
    CoordinatorConfig,
    'agents' | 'startupGateDaemonSets' | 'gitpod' | 'namespace' | 'placing' | 'poolNamespace' | 'agentServiceAccount'
  >;
  client: KubeClient;
  fleet: Fleet;
  /** The services whose evidence is watched. */
  services: () => readonly Service[];
  /** What a watch of NodeServices is handed to. */
  nodeServiceHandlers: ResourceEventHandler<ObservedNodeService>;
  /** Receives NodeHolds and their pods. */
  holds: Holds;
  /** Whether to watch whole Nodes, for their taints or resources. */
  wholeNodes: () => boolean;
  /** Receives the pods that the scheduler extender places; `undefined` if they are not watched. */
  workspacePodHandlers: ResourceEventHandler<ObservedWorkspacePod> | undefined;
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
  /** What rules ask for, beside services: ResourceSlices, and by name what NodeFeatures say and Nodes declare. */
  want: (asked: { usesDra: boolean; nfdNames: readonly string[]; declaredFeatures: readonly string[] }) => void;
  /** The services are others than before. */
  servicesChanged: () => void;
  /** The NodeHolds are others than before. */
  holdsChanged: () => void;
  /** Why what a service depends on cannot be watched; for people. */
  problemOf: (service: Service) => string | undefined;
  /** Why the pods of a NodeHold cannot be watched; for people. */
  problemOfHold: (hold: ObservedNodeHold) => string | undefined;
  /** Until the signal aborts. */
  run: () => Promise<void>;
  /** Resources that were not listed yet. Resources of CRDs are tried once, since the rest works without them. */
  unsynced: () => string[];
  /** Milliseconds since anything came from the watch of Nodes, or of the agents' pods, whichever is silent for longer. */
  silentMs: () => number;
  /**
   * Lists everything anew that was listed longer ago: a watch that was resumed in another history of the cluster, such as
   * one that was restored from a backup, shows nothing of it, and a standby may take a CRD for missing for half a minute
   * after it was installed.
   */
  relist: (olderThanMs: number) => void;
  /** Nothing known from watches is older than a watch that works, and what `relist` asked for has come or failed. */
  current: () => boolean;
};

/** Watches everything that decisions are made of, one LIST and one WATCH a kind. */
export function createWatches(options: WatchOptions): Watches {
  const {
    config,
    fleet,
    services,
    nodeServiceHandlers,
    holds,
    wholeNodes,
    workspacePodHandlers,
    onRecovered,
    ...shared
  } = options;
  const { agents, gitpod, namespace, poolNamespace, agentServiceAccount, placing } = config;
  const { podSelector } = placing;
  const [, , agentNamespace = '', agentAccount = ''] = agentServiceAccount.split(':');
  const nodes = createReflector({
    ...shared,
    ...watchOf(WATCHED.nodes),
    metadataOnly: () => !wholeNodes(),
    handlers: fleet.nodeHandlers,
    transform: (raw) => fleet.observe(raw),
    onRecovered,
  });
  const agentPods =
    agents &&
    createReflector({
      ...shared,
      ...watchOf(WATCHED.pods, agentNamespace),
      fieldSelector: `spec.serviceAccountName=${agentAccount}`,
      handlers: fleet.agentPodHandlers,
      transform: (raw) => observePod(raw as Pod),
    });
  const reflectors: Record<string, Reflector> = { nodes, ...(agentPods ? { 'agent pods': agentPods } : {}) };
  // What these say is for labels of pools, and for one annotation; all else goes on without them.
  const poolLabels = POOL_LABEL_KINDS.map((kind): [string, Reflector] => {
    const watched = POOL_LABEL_RESOURCES[kind];
    const reflector = createReflector({
      ...shared,
      ...watchOf(watched, poolNamespace),
      handlers: fleet.poolLabelHandlers(kind),
      transform: (raw) => observePoolLabelSet(kind, raw as NodePoolLabelSet),
    });
    return [watched.title, reflector];
  });
  const workspaces =
    gitpod &&
    createReflector({
      ...shared,
      ...watchOf(WATCHED.workspaces, namespace),
      handlers: fleet.workspaceHandlers,
      transform: (raw) => observeWorkspace(raw as Workspace),
    });
  const workspacePods =
    podSelector && workspacePodHandlers
      ? createReflector({
          ...shared,
          ...watchOf(WATCHED.pods, placing.namespace),
          labelSelector: formatSelector(podSelector),
          handlers: workspacePodHandlers,
          transform: (raw) => observeWorkspacePod(raw as Pod),
        })
      : undefined;
  // Without them, limits mean nothing.
  if (workspacePods) reflectors['workspace pods'] = workspacePods;
  // None of these can be there.
  if (!gitpod) fleet.workspaceHandlers.onReplace([]);
  if (!podSelector) workspacePodHandlers?.onReplace([]);
  const nodeServices = createReflector({
    ...shared,
    ...watchOf(WATCHED.nodeServices),
    handlers: nodeServiceHandlers,
    transform: (raw) => observeNodeService(raw as NodeService),
  });
  const ofServices = new ServiceWatches({ ...shared, fleet, services });
  const ofHolds = new HoldWatches({ ...shared, holds });
  const onDemand = mapOnDemand((name) => {
    const { watched, observe, isForGate: _, ...row }: OnDemandRow = ON_DEMAND[name];
    return new OnDemandWatch<OnNode>({
      ...shared,
      ...watchOf(WATCHED[watched]),
      ...row,
      refusedRetryMs: REFUSED_RETRY_MS,
      collection: fleet.onDemand.objects[name] as OnDemandCollection<OnNode>,
      observe: (raw, names) => observe(raw as never, names),
    });
  });
  let declaredKept: readonly string[] = [];
  let askedByRules: Partial<Record<OnDemandName, readonly string[]>> = {};
  const isForGate = (name: OnDemandName) => (ON_DEMAND[name] as OnDemandRow).isForGate === true;
  const isNeeded = (name: OnDemandName) => {
    const { watched }: OnDemandRow = ON_DEMAND[name];
    return isForGate(name) ? config.startupGateDaemonSets : services().some((service) => needs(service, watched));
  };
  const wantOnDemand = () =>
    mapOnDemand((name) => onDemand[name].want(askedByRules[name] ?? (isNeeded(name) ? [] : undefined)));
  wantOnDemand();
  const optional: Record<string, Reflector> = {
    ...Object.fromEntries(poolLabels),
    [WATCHED.nodeServices.title]: nodeServices,
    ...(workspaces ? { [WATCHED.workspaces.title]: workspaces } : {}),
  };
  const all = [...Object.values(reflectors), ...Object.values(optional)];
  const asked: Record<string, Reflector> = { ...optional, [WATCHED.nodeHolds.title]: ofHolds.objects };
  const listed = [...all, ofServices, ofHolds, ...Object.values(onDemand)];
  return {
    relistNodes: () => nodes.relist(),
    want: ({ usesDra, nfdNames, declaredFeatures }) => {
      // Of what Nodes declare, only what rules asked before was kept.
      if (String(declaredFeatures) !== String(declaredKept)) nodes.relist();
      declaredKept = declaredFeatures;
      askedByRules = { ...(usesDra ? { slices: [] } : {}), ...(nfdNames.length > 0 ? { nodeFeatures: nfdNames } : {}) };
      wantOnDemand();
    },
    silentMs: () => Math.max(nodes.silentMs(), agentPods ? agentPods.silentMs() : 0),
    servicesChanged: () => {
      ofServices.update();
      wantOnDemand();
    },
    holdsChanged: () => ofHolds.update(),
    problemOf: (service) => {
      const refused = Object.values(mapOnDemand((name) => name)).find(
        (name) => !isForGate(name) && needs(service, ON_DEMAND[name].watched) && onDemand[name].isRefused(),
      );
      return ofServices.problemOf(service) ?? (refused && notPermitted(WATCHED[ON_DEMAND[refused].watched]));
    },
    problemOfHold: (hold) => ofHolds.problemOf(hold),
    run: async () => {
      ofServices.run();
      for (const each of Object.values(onDemand)) each.run();
      await Promise.all([...all, ofHolds].map((each) => each.run()));
    },
    relist: (olderThanMs) => {
      for (const each of listed) each.relist(olderThanMs);
    },
    current: () =>
      [...Object.values(reflectors), ofServices].every(
        (each) => each.hasSynced() && each.hasRelisted() && !each.isFailing(),
      ) && Object.values(asked).every((each) => each.hasRelisted() || each.isFailing()),
    unsynced: () => [
      ...Object.keys(reflectors).filter((name) => !reflectors[name]?.hasSynced()),
      ...(ofServices.hasSynced() ? [] : ['pods of services']),
      ...Object.keys(asked).filter((name) => !asked[name]?.hasTried()),
    ],
  };
}
