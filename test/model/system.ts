import type { Clock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { FullReport, Heartbeat, ReportReply } from '@rollcall/common/report.ts';
import { evictionFor } from '@rollcall/coordinator/decide/create-decider.ts';
import { Decider } from '@rollcall/coordinator/decide/decider.ts';
import type { ReadinessGate } from '@rollcall/coordinator/decide/labelers/readiness.ts';
import type { RuleSet } from '@rollcall/coordinator/decide/rules/rule-set.ts';
import type { ObservedCsiNode } from '@rollcall/coordinator/fleet/csi-nodes.ts';
import type { ObservedPod } from '@rollcall/coordinator/fleet/observed-pod.ts';
import type { ObservedWorkspace } from '@rollcall/coordinator/fleet/observed-workspace.ts';
import type { ObservedPoolLabelSet } from '@rollcall/coordinator/fleet/pool-label-sets.ts';
import { Evictor } from '@rollcall/coordinator/follow/eviction/evictor.ts';
import { Ledger } from '@rollcall/coordinator/follow/ledger/ledger.ts';
import { provenTaintIn } from '@rollcall/coordinator/follow/status/service-status.ts';
import { Holds } from '@rollcall/coordinator/holds/holds.ts';
import type { HeldPods, ObservedNodeHold } from '@rollcall/coordinator/holds/node-hold.ts';
import type { KubeClient } from '@rollcall/coordinator/kube/client.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import { ServiceCatalog } from '@rollcall/coordinator/services/catalog.ts';
import type { ObservedNodeService } from '@rollcall/coordinator/services/node-service.ts';
import { KeyRegistry } from '@rollcall/coordinator/setup/keys/key-registry.ts';
import { gitpodServices, type Service } from '@rollcall/coordinator/setup/services.ts';
import { ALLOWED_PREFIXES, POOL_LABEL } from './node-services.ts';

/** The one place that knows how the decider is built and driven. Everything else of the model goes by `Replica`. */

export const SERVICES: readonly Service[] = gitpodServices({
  gitpod: true,
  requirePod: true,
  namespace: 'default',
  wsDaemonPort: 8080,
  registryFacadePort: 31750,
});

/** Everything that a replica watches, as it is now. */
export type Watched = {
  nodes: readonly Node[];
  componentPods: readonly ObservedPod[];
  agentPods: readonly ObservedPod[];
  poolLabelSets: readonly ObservedPoolLabelSet[];
  workspaces: readonly ObservedWorkspace[];
  nodeServices: readonly ObservedNodeService[];
  csiNodes: readonly ObservedCsiNode[];
  nodeHolds: readonly ObservedNodeHold[];
};

export type ReplicaOptions = {
  client: KubeClient;
  gate: ReadinessGate;
  startupGate: readonly string[];
  /** Whether pods are evicted, and for labels of services as well. */
  evict: { readiness: boolean } | undefined;
  rules: () => RuleSet;
  clock: Clock;
  random: () => number;
  watched: Watched;
  wholeNodes: boolean;
  /** Watches the pods that NodeHolds name, and no others. */
  watchHeldPods: (held: readonly HeldPods[], index: Holds['pods']) => void;
  /** The taint of a NodeService was seen to go. */
  onProven: (uid: string, taint: string) => void;
  dryRun: boolean;
  keepsLedger: boolean;
};

/** Who an agent is, as its token says. */
export type AgentIdentity = {
  node: string;
  nodeUid: string;
  pod: { name: string; uid: string };
  issuedAtSeconds: number;
};

type Handlers<T> = { onUpsert(one: T): void; onDelete(one: T): void };

const LOGGER = silentLogger();
const NOBODY = {
  announcer: {
    sees: () => {},
    shows: () => {},
    heldBack: () => {},
    gateOpened: () => {},
    contested: () => {},
    leftAlone: () => {},
  },
};
const BUS = { deviceClassWhitelist: ['fe', '0880'], deviceLabelFields: ['class', 'vendor', 'device'] };

/** One coordinator: warm from the beginning, leading at times. */
export class Replica {
  readonly #decider: Decider;
  readonly #catalog: ServiceCatalog;
  readonly #holds: Holds;
  readonly #wholeNodes: boolean;
  readonly #servicePods: ReturnType<Decider['fleet']['servicePods']['handlers']>;
  /** Kept while it leads, where it is asked for. */
  readonly #ledger: Ledger;
  readonly #stopped = new AbortController();
  #leading = false;
  #deciding = false;
  #terms = 0;

  constructor(options: ReplicaOptions) {
    const { client, gate, startupGate, evict, rules, clock, random, watched, dryRun, keepsLedger } = options;
    this.#wholeNodes = options.wholeNodes;
    const config = {
      watchedServices: SERVICES,
      poolLabels: [POOL_LABEL],
      readinessGate: gate,
      startupGateRequires: startupGate,
    };
    const keys = new KeyRegistry(config);
    const catalog: ServiceCatalog = new ServiceCatalog({
      builtIn: SERVICES,
      keys,
      otherKeys: new KeyRegistry(config),
      allowedPrefixes: ALLOWED_PREFIXES,
      allowNoExecute: true,
      conditions: true,
      allowedConditions: [],
      impliedBy: (labels) => rules().dependents(labels),
      intolerantPod: () => undefined,
      podsRevision: () => this.#decider.fleet.servicePods.revision,
      clock,
      logger: LOGGER,
      onChange: (uids) => {
        this.#decider.servicesChanged(uids);
        this.#decider.fleet.markAll();
      },
    });
    this.#catalog = catalog;
    const holds: Holds = new Holds({
      clock,
      onNode: (node) => this.#decider.changed(node),
      onChange: () => {
        options.watchHeldPods(holds.wanted(), holds.pods);
        this.#decider.fleet.markAll();
      },
    });
    this.#holds = holds;
    const services = () => catalog.services();
    this.#ledger = new Ledger({
      decider: () => this.#decider,
      rules: () => ({ services: services(), gate, dryRun }),
      mayJudge: () => this.#deciding,
      clock,
    });
    const fence = { remainingMs: () => (this.#leading ? 10_000 : 0) };
    const registry = new Registry();
    const evictor =
      evict &&
      new Evictor({
        ...{ client, fence, clock, random, registry, dryRun, signal: this.#stopped.signal, logger: LOGGER },
        record: () => {},
        delayMs: 30_000,
        stateOf: (node) => this.#decider.evictable(node),
      });
    const look = (node: string) => {
      if (keepsLedger) this.#ledger.look(node);
      evictor?.consider(node);
    };
    const restart = () => {
      this.#ledger.restart();
      evictor?.restart();
    };
    this.#decider = new Decider({
      client,
      fence,
      services,
      servicesKnown: () => catalog.known,
      serviceUids: () => catalog.uids,
      onPodsKnown: () => catalog.judge(),
      holdsOn: (node) => holds.on(node),
      firstTaints: {
        wasProven: ({ name }, taint) => provenTaintIn(this.#statusOf(name)) === taint,
        onProven: (service) => {
          this.#decider.fleet.markAll();
          const { origin } = service;
          const taint = this.#decider.firstTaints.provenTaint(service);
          if (this.#leading && origin.kind === 'object' && taint !== undefined) options.onProven(origin.uid, taint);
        },
        onWaiting: () => {},
      },
      gate,
      poolLabels: [POOL_LABEL],
      keys,
      forbiddenLabelDomains: [],
      poolsAllowedPrefixes: [],
      massWithdrawalDelayMs: 60_000,
      startupGate: { requires: startupGate, maxWaitMs: 600_000 },
      deviceGrammar: { usb: BUS, pci: BUS },
      factLabels: [],
      rules,
      eviction: evict && evictionFor({ evictReadiness: evict.readiness }, keys),
      allAnnotations: false,
      windowMs: 30_000,
      guardPercent: 55,
      dryRun,
      mayDecide: () => this.#deciding,
      clock,
      random,
      logger: LOGGER,
      registry,
      ...NOBODY,
      followUps: { look, forget: look, restart },
    });
    const { fleet } = this.#decider;
    fleet.nodeHandlers.onReplace(watched.nodes.map((node) => this.#observe(node)));
    this.#servicePods = fleet.servicePods.handlers('default');
    this.#servicePods.onReplace([...watched.componentPods]);
    fleet.agentPodHandlers.onReplace([...watched.agentPods]);
    fleet.poolLabelSetHandlers.onReplace([...watched.poolLabelSets]);
    fleet.workspaceHandlers.onReplace([...watched.workspaces]);
    fleet.csiNodeHandlers.onReplace([...watched.csiNodes]);
    catalog.handlers.onReplace([...watched.nodeServices]);
    holds.handlers.onReplace([...watched.nodeHolds]);
  }

  #statusOf(service: string): unknown {
    return this.#catalog.objects().find(({ name }) => name === service)?.status;
  }

  /** What its ledger says, over all terms. */
  lieSeconds(): ReturnType<Ledger['seconds']> {
    return this.#ledger.seconds();
  }

  get deciding(): boolean {
    return this.#deciding;
  }

  get leading(): boolean {
    return this.#leading;
  }

  get hasLed(): boolean {
    return this.#terms > 0;
  }

  /** Takes reports from now on, and decides once `synced` has come. */
  lead(synced: Promise<void>): void {
    this.#leading = true;
    this.#terms += 1;
    const term = this.#terms;
    this.#decider.beginTerm();
    void synced.then(() => {
      if (!this.#leading || this.#terms !== term) return;
      this.#deciding = true;
      this.#decider.fleet.markAll();
    });
  }

  standBy(): void {
    this.#leading = false;
    this.#deciding = false;
    this.#ledger.restart();
  }

  /** Once a second. */
  tick(): void {
    if (this.#deciding) this.#decider.tick();
  }

  /** Whether this is the Node of that name, as far as it is known here. */
  knows(node: string, uid: string): boolean {
    return this.#decider.fleet.node(node)?.uid === uid;
  }

  accept(report: FullReport | Heartbeat, identity: AgentIdentity): ReportReply {
    return this.#decider.fleet.accept(report, identity).reply;
  }

  rulesChanged(rules: RuleSet): void {
    this.#decider.rulesChanged(rules.labels);
    this.#catalog.judge();
    this.#decider.fleet.markAll();
  }

  node(event: 'ADDED' | 'MODIFIED' | 'DELETED', node: Node): void {
    tell(this.#decider.fleet.nodeHandlers, event === 'DELETED', this.#observe(node));
  }

  componentPod(pod: ObservedPod, gone: boolean): void {
    tell(this.#servicePods, gone, pod);
  }

  agentPod(pod: ObservedPod, gone: boolean): void {
    tell(this.#decider.fleet.agentPodHandlers, gone, pod);
  }

  poolLabelSet(set: ObservedPoolLabelSet, gone: boolean): void {
    tell(this.#decider.fleet.poolLabelSetHandlers, gone, set);
  }

  workspace(workspace: ObservedWorkspace, gone: boolean): void {
    tell(this.#decider.fleet.workspaceHandlers, gone, workspace);
  }

  nodeService(service: ObservedNodeService, gone: boolean): void {
    tell(this.#catalog.handlers, gone, service);
    this.#decider.statusNoted();
  }

  nodeHold(hold: ObservedNodeHold, gone: boolean): void {
    tell(this.#holds.handlers, gone, hold);
  }

  csiNode(csiNode: ObservedCsiNode, gone: boolean): void {
    tell(this.#decider.fleet.csiNodeHandlers, gone, csiNode);
  }

  /** Ends the process: nothing is written any more. */
  stop(): void {
    this.standBy();
    this.#stopped.abort();
    void this.#decider.reconciler.stop();
  }

  #observe({ spec, status, ...metadata }: Node) {
    const whole = { ...metadata, spec: spec ?? {}, status: { conditions: [], ...status } };
    return this.#decider.fleet.observe(this.#wholeNodes ? whole : metadata);
  }
}

function tell<T>(handlers: Handlers<T>, gone: boolean, object: T): void {
  if (gone) handlers.onDelete(object);
  else handlers.onUpsert(object);
}
