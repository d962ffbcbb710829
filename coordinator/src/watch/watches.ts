import { WATCHED } from '@rollcall/common/watched-resources.ts';
import type { NodeHold, NodePoolLabelSet, NodeService, Pod, Workspace } from '../kube/objects.ts';
import type { ResourceEventHandler } from '../kube/reflector.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { formatSelector } from '../model/label-selector.ts';
import { needs, podsChecksOf, type Service, watchedPodsOf } from '../model/services.ts';
import type { Collection } from '../state/collection.ts';
import type { Fleet } from '../state/fleet.ts';
import { observeHoldingPod } from '../state/holds/holding-pod.ts';
import type { Holds } from '../state/holds/holds.ts';
import { type ObservedNodeHold, observeNodeHold } from '../state/holds/node-hold.ts';
import { NOT_ENDED, observePod } from '../state/observed-pod.ts';
import { type ObservedWorkspacePod, observeWorkspace, observeWorkspacePod } from '../state/observed-workspace.ts';
import {
  mapOnDemand,
  ON_DEMAND,
  type OnDemandName,
  type OnDemandRow,
  onDemandObjects,
  type RuleQuestions,
} from '../state/on-demand-objects.ts';
import { observePoolLabelSet, POOL_LABEL_KINDS, POOL_LABEL_RESOURCES } from '../state/pool-label-sets.ts';
import { type ObservedNodeService, observeNodeService } from '../state/services/node-service.ts';
import { podParts } from './pod-parts.ts';
import { type AnyWatch, ResourceWatch, type WatchDependencies, type WatchRow } from './resource-watch.ts';

export type WatchOptions = WatchDependencies & {
  config: Pick<
    CoordinatorConfig,
    'agents' | 'startupGateDaemonSets' | 'gitpod' | 'namespace' | 'placing' | 'poolNamespace' | 'agentServiceAccount'
  >;
  fleet: Fleet;
  /** Receives NodeServices. */
  nodeServices: Collection<ObservedNodeService>;
  /** Receives NodeHolds and their pods. */
  holds: Holds;
  /** Receives the pods that the scheduler extender places; `undefined` if they are not watched. */
  workspacePodHandlers: ResourceEventHandler<ObservedWorkspacePod> | undefined;
  /** The services whose evidence is watched. */
  services: () => readonly Service[];
  /** What rules ask for; `undefined` without rules. */
  rules: () => RuleQuestions | undefined;
  /** Whether to watch whole Nodes, for their taints or resources. Once whole, they stay whole: what is known would grow old. */
  wholeNodes: () => boolean;
  /** The Nodes are in view again, after that many milliseconds without contact. */
  onRecovered: (outageMs: number) => void;
};

/** Everything that decisions are made of, each resource by one LIST and one WATCH for each of its parts. */
export class Watches {
  readonly #services: AnyWatch;
  readonly #holds: AnyWatch;
  readonly #onDemand: Readonly<Record<OnDemandName, AnyWatch>>;
  /** In the order in which /readyz names them. */
  readonly #all: readonly AnyWatch[];

  constructor(options: WatchOptions) {
    const { config, fleet, nodeServices, holds, workspacePodHandlers, services, rules, client, clock, random } =
      options;
    const { signal, logger, metrics } = options;
    const watchOf = <T>(row: WatchRow<T>) =>
      new ResourceWatch<T>(row, { client, clock, random, signal, logger, ...(metrics ? { metrics } : {}) });
    const { agents, gitpod, namespace, poolNamespace, agentServiceAccount, placing } = config;
    const [, , agentNamespace = '', agentAccount = ''] = agentServiceAccount.split(':');
    let isWhole = false;
    const nodes = watchOf({
      watched: WATCHED.nodes,
      title: 'nodes',
      store: { handlers: () => fleet.nodeHandlers },
      parts: () => {
        isWhole ||= options.wholeNodes();
        return [{ kept: `${isWhole} ${rules()?.declaredFeatures ?? ''}`, transform: (raw) => fleet.observe(raw) }];
      },
      metadataOnly: () => !isWhole,
      keepsKnown: true,
      isLifeline: true,
      onRecovered: options.onRecovered,
    });
    const agentPods = watchOf({
      watched: WATCHED.pods,
      title: 'agent pods',
      store: { handlers: () => fleet.agentPods.handlers() },
      parts: () =>
        agents
          ? [
              {
                namespace: agentNamespace,
                fieldSelector: `spec.serviceAccountName=${agentAccount}`,
                transform: (raw) => observePod(raw as Pod),
              },
            ]
          : [],
      isLifeline: true,
    });
    const { podSelector } = placing;
    const workspacePods =
      podSelector && workspacePodHandlers
        ? [
            watchOf({
              watched: WATCHED.pods,
              title: 'workspace pods',
              store: { handlers: () => workspacePodHandlers },
              parts: () => [
                {
                  namespace: placing.namespace,
                  labelSelector: formatSelector(podSelector),
                  transform: (raw) => observeWorkspacePod(raw as Pod),
                },
              ],
            }),
          ]
        : [];
    // None of these can be there.
    if (!podSelector) workspacePodHandlers?.onReplace([]);
    if (!gitpod) fleet.workspaces.handlers().onReplace([]);
    this.#services = watchOf({
      watched: WATCHED.pods,
      title: 'pods of services',
      store: fleet.servicePods,
      parts: () => {
        const builtIn = services().filter(({ origin }) => origin.kind === 'built-in');
        const needed = new Set(builtIn.flatMap(podsChecksOf).map(({ settings }) => settings.namespace));
        return podParts(services().flatMap(watchedPodsOf), observePod).map((part) => ({
          ...part,
          isNeeded: needed.has(part.namespace),
        }));
      },
    });
    // What these say is for labels of pools, and for one annotation; all else goes on without them.
    const poolLabels = POOL_LABEL_KINDS.map((kind) =>
      watchOf({
        watched: POOL_LABEL_RESOURCES[kind],
        store: fleet.poolLabelSets,
        parts: () => [
          {
            namespace: poolNamespace,
            part: kind,
            transform: (raw) => observePoolLabelSet(kind, raw as NodePoolLabelSet),
          },
        ],
      }),
    );
    const ofServices = watchOf({
      watched: WATCHED.nodeServices,
      store: nodeServices,
      parts: () => [{ transform: (raw) => observeNodeService(raw as NodeService) }],
    });
    const workspaces = watchOf({
      watched: WATCHED.workspaces,
      store: { handlers: () => fleet.workspaces.handlers() },
      parts: () => (gitpod ? [{ namespace, transform: (raw) => observeWorkspace(raw as Workspace) }] : []),
    });
    const nodeHolds = watchOf({
      watched: WATCHED.nodeHolds,
      store: holds.all,
      parts: () => [{ transform: (raw) => observeNodeHold(raw as NodeHold) }],
    });
    this.#holds = watchOf({
      watched: WATCHED.pods,
      title: 'pods of NodeHolds',
      store: holds.pods,
      parts: () =>
        podParts(holds.wanted(), observeHoldingPod).map((part) => ({
          ...part,
          fieldSelector: NOT_ENDED,
          isNeeded: false,
        })),
    });
    this.#onDemand = mapOnDemand((name) => {
      const { watched, observe, askedBy, pageSize, fieldSelector, isForGate }: OnDemandRow = ON_DEMAND[name];
      const asked = () => {
        const questions = rules();
        const byRules = questions && askedBy?.(questions);
        const isNeeded = isForGate
          ? config.startupGateDaemonSets
          : services().some((service) => needs(service, watched));
        return byRules ?? (isNeeded ? [] : undefined);
      };
      return watchOf({
        watched: WATCHED[watched],
        store: onDemandObjects(fleet.onDemand, name),
        parts: () => {
          const names = asked();
          return names
            ? [
                {
                  kept: String(names),
                  transform: (raw) => observe(raw as never, names),
                  isNeeded: false,
                  ...(fieldSelector === undefined ? {} : { fieldSelector }),
                },
              ]
            : [];
        },
        ...(pageSize === undefined ? {} : { pageSize }),
      });
    });
    const needed = [nodes, agentPods, ...workspacePods, this.#services];
    const ofCrds = [...poolLabels, ofServices, workspaces, nodeHolds];
    this.#all = [...needed, ...ofCrds, this.#holds, ...Object.values(this.#onDemand)];
  }

  /** Until the signal aborts. */
  async run(): Promise<void> {
    await Promise.all(this.#all.map((each) => each.run()));
  }

  /** Other services, NodeHolds or rules are in force: watches what they ask for. */
  update(): void {
    for (const each of this.#all) each.update();
  }

  /** Resources that were not listed yet. Resources of CRDs are tried once, since the rest works without them. */
  unsynced(): string[] {
    return this.#all.filter(({ isSynced }) => !isSynced).map(({ title }) => title);
  }

  /** Nothing known from watches is older than a watch that works, and what `relist` asked for has come or failed. */
  current(): boolean {
    return this.#all.every(({ isCurrent }) => isCurrent);
  }

  /**
   * Lists everything anew that was listed longer ago: a watch that was resumed in another history of the cluster, such as
   * one that was restored from a backup, shows nothing of it, and a standby may take a CRD for missing for half a minute
   * after it was installed.
   */
  relist(olderThanMs: number): void {
    for (const each of this.#all) each.relist(olderThanMs);
  }

  /** Milliseconds since anything came from the watch of Nodes, or of the agents' pods, whichever is silent for longer. */
  silentMs(): number {
    return Math.max(...this.#all.map((each) => each.silentMs()));
  }

  /** Why what a service depends on may not be watched, so that nothing new is known of it; for people. */
  problemOf(service: Service): string | undefined {
    for (const { namespace } of watchedPodsOf(service)) {
      const problem = this.#services.problemOf(namespace);
      if (problem !== undefined) return problem;
    }
    const asked = Object.values(mapOnDemand((name) => name)).filter((name) => {
      const { watched, isForGate }: OnDemandRow = ON_DEMAND[name];
      return !isForGate && needs(service, watched);
    });
    return asked.map((name) => this.#onDemand[name].problemOf()).find((problem) => problem !== undefined);
  }

  /** Why nothing is known of the pods of a NodeHold; for people. */
  problemOfHold({ pods }: ObservedNodeHold): string | undefined {
    return pods && this.#holds.problemOf(pods.namespace);
  }
}
