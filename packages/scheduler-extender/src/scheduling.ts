import type { Clock } from '@rollcall/common/clock.ts';
import { closeServer, type ListenAddress, listen } from '@rollcall/common/http-server.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import { coordinatorServerName } from '@rollcall/common/well-known.ts';
import type { Evaluator } from '@rollcall/coordinator/decide/evaluator.ts';
import type { EvaluatedNode } from '@rollcall/coordinator/decide/labelers/labeler.ts';
import { shownReady } from '@rollcall/coordinator/decide/shown-ready.ts';
import type { CoordinatorConfig } from '@rollcall/coordinator/model/config.ts';
import { parseScoreWeights } from '@rollcall/coordinator/model/score-weights.ts';
import type { Service } from '@rollcall/coordinator/model/services.ts';
import { Collection, hasSameFields, type ObjectChange, placesOf } from '@rollcall/coordinator/state/collection.ts';
import type { Fleet } from '@rollcall/coordinator/state/fleet.ts';
import type { ObservedNode } from '@rollcall/coordinator/state/observed-node.ts';
import type { ObservedWorkspacePod } from '@rollcall/coordinator/state/observed-workspace.ts';
import { allocatableResources } from '@rollcall/coordinator/state/resources.ts';
import type { Leader } from '@rollcall/coordinator/term/leader/ask-leader.ts';
import type { CertificateHolder } from '@rollcall/coordinator/tls/certificate-holder.ts';
import { readClientCas } from '@rollcall/coordinator/tls/client-cas.ts';
import { createExtenderServer } from './extender/extender-server.ts';
import { createExtenderMetrics } from './extender/metrics.ts';
import { createForward, createResponder } from './extender/responder.ts';
import { ExtenderService } from './scoring/extender-service.ts';
import {
  countWorkspaces,
  type NodeWorkspaces,
  type RequiredService,
  type SchedulableNode,
} from './scoring/schedulable-node.ts';
import type { ScheduleDocument } from './scoring/schedule-document.ts';
import { readSchedulingPod } from './scoring/scheduling-pod.ts';

const CLOSE_GRACE_MS = 500;

/** How much later than kube-scheduler this replica may learn of a pod. */
const ARRIVAL_MS = 200;

/** A new leader does not know what was refused before. By this time agents have reported to it. */
const LOOK_BACK_MS = 15_000;

export type SchedulingOptions = {
  config: CoordinatorConfig;
  fleet: Fleet;
  evaluator: Evaluator;
  services: () => readonly Service[];
  clock: Clock;
};

/** The state that only the scheduler's questions need: the pods that it places. */
export class Scheduling {
  #extenderService: ExtenderService;
  readonly #pods = new Collection<ObservedWorkspacePod>({ at: ({ node }) => node, isSame: hasSameFields });
  readonly #options: SchedulingOptions;
  /** Those that have no node yet, as watched, by uid. */
  readonly #waiting = new Map<string, ObservedWorkspacePod>();
  /** Uids of pods that were Ready once. */
  readonly #wereReady = new Set<string>();
  /** When to look again at what an earlier leader may have refused; epoch milliseconds. */
  #lookBackAtMs: number | undefined;
  /** What to call once a pod of this uid is seen, or is waited for no longer. */
  readonly #arrivals = new Map<string, { promise: Promise<void>; end: () => void }>();

  constructor(options: SchedulingOptions) {
    this.#options = options;
    const changed = (changes: readonly ObjectChange<ObservedWorkspacePod>[]) => {
      for (const node of placesOf(changes, (pod) => pod.node)) this.changed(node);
    };
    this.#pods.onChange({ changed, listed: changed });
    this.#extenderService = this.#newExtenderService();
  }

  get fleetSize(): number {
    return this.#options.fleet.nodeNames().length;
  }

  get extenderService(): ExtenderService {
    return this.#extenderService;
  }

  /** Every node's verdict and score for a pod, for people. Yields where it can be interrupted. */
  explain(pod: unknown, names: readonly string[]): Generator<undefined, ScheduleDocument> {
    return this.extenderService.explain(readSchedulingPod(pod, this.#options.config.placing), names);
  }

  /** This replica begins to lead: what it answered before is of another time. */
  beginTerm(): void {
    this.#extenderService = this.#newExtenderService();
    this.#lookBackAtMs = this.#options.clock.now() + LOOK_BACK_MS;
    for (const pod of this.#waiting.values()) this.#settle(pod);
  }

  /**
   * Nodes to change so that kube-scheduler tries again: those that refused a pod and would take it now, while a pod
   * waits. To be asked about once a second by the leader.
   */
  hintsDue(): string[] {
    if (this.#waiting.size === 0) {
      this.extenderService.forgetRefusals();
      return [];
    }
    if (this.#lookBackAtMs !== undefined && this.#options.clock.now() >= this.#lookBackAtMs) {
      this.#lookBackAtMs = undefined;
      const anyRefused = this.#waiting.values().some(({ refused }) => refused);
      if (anyRefused) this.extenderService.refused('any', this.#options.fleet.nodeNames());
    }
    return this.extenderService.hintsDue();
  }

  #newExtenderService(): ExtenderService {
    const { config, fleet, evaluator, clock } = this.#options;
    return new ExtenderService({
      clock,
      ...(this.#isUnauthenticated ? { mayKeep: (podUid) => this.isWaiting(podUid) } : {}),
      limits: {
        maxWorkspacesPerNode: config.maxWorkspacesPerNode,
        maxStartingPerNode: config.maxStartingPerNode,
        nodeSelector: config.placing.nodeSelector,
      },
      weights: parseScoreWeights(config.scoreWeights).weights,
      namespace: config.namespace,
      node: (name, without) => {
        const node = fleet.node(name);
        const evaluated = evaluator.evaluate(name)?.evaluated;
        const pods = this.#pods.on(name).filter(({ uid }) => !without?.has(uid));
        const workspaces = this.#pods.isKnown() ? countWorkspaces(pods, this.#wereReady) : undefined;
        const known = { services: this.#options.services(), required: config.placing.services };
        return node && evaluated && schedulableNode(node, evaluated, workspaces, known);
      },
    });
  }

  /** Whether clients are not authenticated: they could make nodes look full by asking about pods that do not exist. */
  get #isUnauthenticated(): boolean {
    return this.#options.config.schedulerClientCaFile === undefined;
  }

  /** What a watch of the workspaces' pods is to be handed to. */
  get podHandlers() {
    const { onReplace, onUpsert, onDelete } = this.#pods.handlers();
    return {
      onReplace: (pods: ObservedWorkspacePod[]) => {
        const listed = new Set(pods.map(({ uid }) => uid));
        for (const uid of [...this.#waiting.keys(), ...this.#wereReady]) if (!listed.has(uid)) this.#gone(uid);
        for (const pod of pods) this.#noteReady(pod);
        onReplace(pods);
        this.extenderService.allChanged();
        for (const pod of pods) this.#settle(pod);
      },
      onUpsert: (pod: ObservedWorkspacePod) => {
        this.#noteReady(pod);
        onUpsert(pod);
        this.#settle(pod);
      },
      onDelete: (pod: ObservedWorkspacePod) => {
        onDelete(pod);
        this.#gone(pod.uid);
      },
    };
  }

  /** Whether a pod of this uid is there and has no node yet. */
  isWaiting(podUid: string): boolean {
    return this.#waiting.has(podUid);
  }

  /**
   * Resolves when the pod is seen, and after a moment anyway; `undefined` where nothing has to be waited for. kube-scheduler
   * may know of a pod before this replica does, and what is answered about one that is not known is not kept in mind.
   */
  arrival(podUid: string): Promise<void> | undefined {
    if (!this.#isUnauthenticated || this.isWaiting(podUid)) return undefined;
    const known = this.#arrivals.get(podUid);
    if (known) return known.promise;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => {
      cancel();
      this.#arrivals.delete(podUid);
      resolve();
    };
    const cancel = this.#options.clock.after(ARRIVAL_MS, end);
    this.#arrivals.set(podUid, { promise, end });
    return promise;
  }

  /** A node may be other than it was, or gone. */
  changed(node: string): void {
    this.extenderService.changed(node);
  }

  #noteReady({ uid, ready }: ObservedWorkspacePod): void {
    if (ready) this.#wereReady.add(uid);
  }

  #gone(uid: string): void {
    this.#waiting.delete(uid);
    this.#wereReady.delete(uid);
    this.extenderService.settled(uid);
  }

  /** Only when the pod counts on its node: it is no longer counted as on its way. */
  #settle(pod: ObservedWorkspacePod): void {
    if (pod.waiting) {
      this.#waiting.set(pod.uid, pod);
      this.#arrivals.get(pod.uid)?.end();
      if (pod.nominated) this.extenderService.assume({ id: pod.uid, asks: pod }, pod.nominated);
      return;
    }
    this.#waiting.delete(pod.uid);
    this.extenderService.settled(pod.uid);
  }
}

export type ExtenderOptions = {
  config: CoordinatorConfig;
  /** Namespace of the coordinator. */
  ownNamespace: string;
  address: NonNullable<ListenAddress>;
  scheduling: Scheduling;
  /** Whether this replica answers itself. */
  leads: () => boolean;
  /** Returns the URL of the leader's extender, if another replica leads. */
  leaderUrl: () => string | undefined;
  /** The certificates of the listener for reports, which this listener uses, too. */
  certificates: CertificateHolder | undefined;
  clock: Clock;
  logger: Logger;
  registry: Registry;
};

/** Opens the scheduler extender, until the program stops. Throws LISTEN_FAILED, and CONFIG_INVALID for its CA file. */
export async function openExtender(options: ExtenderOptions, life: Lifecycle): Promise<{ host: string; port: number }> {
  const { config, ownNamespace, address, scheduling, leads, leaderUrl, certificates, clock, logger, registry } =
    options;
  const metrics = createExtenderMetrics(registry);
  const leader = (): Leader | undefined => {
    const url = leaderUrl();
    if (url === undefined) return undefined;
    const pair = certificates?.current;
    // All replicas serve the certificate of one Secret, or of one file: the leader's is this one's.
    if (!pair) return { url };
    const { cert, key, authority = cert } = pair;
    return { url, ca: authority, serverName: coordinatorServerName(ownNamespace), cert, key };
  };
  const forward = createForward({ leader, clock });
  const respond = createResponder({
    handler: {
      filter: (pod, names) => scheduling.extenderService.filter(pod, names),
      prioritize: (pod, names) => scheduling.extenderService.prioritize(pod, names),
      preempt: (pod, victims) => scheduling.extenderService.preempt(pod, victims),
      predicate: (pod, nodes) => scheduling.extenderService.predicate(pod, nodes),
    },
    readPod: (pod) => readSchedulingPod(pod, config.placing),
    arrival: (podId) => scheduling.arrival(podId),
    leader: () => (leads() ? undefined : forward),
    nodes: () => scheduling.fleetSize,
    metrics,
  });
  const server = createExtenderServer({
    respond,
    ...(config.schedulerTls === 'on' && certificates ? { certificates } : {}),
    clientCas: readClientCas(config),
    metrics,
    clock,
    logger,
  });
  const bound = await listen(server, address);
  life.onStop('scheduler extender', () => closeServer(server, CLOSE_GRACE_MS));
  return bound;
}

type Known = {
  /** That are in force. */
  services: readonly Service[];
  /** Names of those that have to be ready; defaults to the built-in ones. */
  required: readonly string[] | undefined;
};

/** A node as the scheduler extender sees it. */
export function schedulableNode(
  node: ObservedNode,
  evaluated: EvaluatedNode,
  workspaces: NodeWorkspaces | undefined,
  { services, required }: Known,
): SchedulableNode {
  const builtIn = services.filter(({ origin }) => origin.kind === 'built-in').map(({ name }) => name);
  return {
    name: node.name,
    labels: node.labels,
    deleting: node.deleting === true,
    taints: node.taints,
    services: (required ?? builtIn).map((name) => {
      const service = services.find((each) => each.name === name);
      return service ? stateOf(service, node, evaluated) : missing(name, 'no NodeService of this name is accepted');
    }),
    fresh: evaluated.freshness.state === 'fresh' || evaluated.freshness.state === 'leaving',
    workspaces,
    allocatable: allocatableResources(node.allocatable),
  };
}

function stateOf(service: Service, node: ObservedNode, evaluated: EvaluatedNode): RequiredService {
  const verdict = evaluated.readiness.get(service.name);
  if (!verdict) return missing(service.name, 'it does not apply to this node');
  const { state, reason, damping } = verdict;
  return { name: service.name, state, shown: shownReady(node, service), reason, falls: damping?.falls ?? 0 };
}

function missing(name: string, reason: string): RequiredService {
  return { name, state: 'not-ready', shown: false, reason, falls: 0 };
}
