import { isDeepStrictEqual } from 'node:util';
import { type Clock, type Moment, momentOf } from '@rollcall/common/clock.ts';
import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { FullReport, Heartbeat, ReportReply } from '@rollcall/common/report.ts';
import { nodeDocument } from '@rollcall/coordinator/answer/console/node-document.ts';
import { NodeQueries } from '@rollcall/coordinator/answer/console/node-queries.ts';
import { evictionFor } from '@rollcall/coordinator/app/settings.ts';
import { NO_SUBSCRIBERS } from '@rollcall/coordinator/controller/node-controller.test-fixtures.ts';
import { NodeController, type PreparedPlan } from '@rollcall/coordinator/controller/node-controller.ts';
import type { Subscribers } from '@rollcall/coordinator/controller/subscribers.ts';
import { Evaluator } from '@rollcall/coordinator/decide/evaluator.ts';
import { ChangeLog } from '@rollcall/coordinator/decide/intent/changes.ts';
import { LabelOwners } from '@rollcall/coordinator/decide/label-owners.ts';
import { reservedKeys } from '@rollcall/coordinator/decide/labelers/pool-keys.ts';
import { RuleSet } from '@rollcall/coordinator/decide/rules/rule-set.ts';
import { WhatIf, type WhatIfOptions } from '@rollcall/coordinator/decide/what-if.ts';
import type { KubeClient } from '@rollcall/coordinator/kube/client.ts';
import { LeaderRequests } from '@rollcall/coordinator/kube/leader-requests.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { CoordinatorConfig } from '@rollcall/coordinator/model/config.ts';
import { KeyRegistry } from '@rollcall/coordinator/model/keys/key-registry.ts';
import { gitpodServices, type ReadinessGate, type Service } from '@rollcall/coordinator/model/services.ts';
import type { OnNode } from '@rollcall/coordinator/state/collection.ts';
import type { ObservedCsiNode } from '@rollcall/coordinator/state/csi-nodes.ts';
import { listPoolLabels } from '@rollcall/coordinator/state/fleet.test-fixtures.ts';
import { Fleet } from '@rollcall/coordinator/state/fleet.ts';
import { Holds } from '@rollcall/coordinator/state/holds/holds.ts';
import type { HeldPods, ObservedNodeHold } from '@rollcall/coordinator/state/holds/node-hold.ts';
import type { ObservedPod } from '@rollcall/coordinator/state/observed-pod.ts';
import type { ObservedWorkspace } from '@rollcall/coordinator/state/observed-workspace.ts';
import { mapOnDemand, type OnDemandName, onDemandObjects } from '@rollcall/coordinator/state/on-demand-objects.ts';
import type { ObservedPoolLabelSet } from '@rollcall/coordinator/state/pool-label-sets.ts';
import type { ObservedNodeService } from '@rollcall/coordinator/state/services/node-service.ts';
import { ServiceRegistry } from '@rollcall/coordinator/state/services/service-registry.ts';
import { Evictor } from '@rollcall/coordinator/subscribers/eviction/evictor.ts';
import { Ledger } from '@rollcall/coordinator/subscribers/ledger/ledger.ts';
import { LEASE_TIMING } from '@rollcall/coordinator/term/election.ts';
import { Leadership } from '@rollcall/coordinator/term/leadership.ts';
import { NodeWriter } from '@rollcall/coordinator/write/node-writer.ts';
import { SkippedKeys } from '@rollcall/coordinator/write/skipped-keys.ts';
import { WriteQueue } from '@rollcall/coordinator/write/write-queue.ts';
import { Scheduling } from '@rollcall/scheduler-extender/scheduling.ts';
import type { OnDemandThere } from './actors.ts';
import { DAEMON_GATE } from './daemon-sets.ts';
import { ALLOWED_PREFIXES, POOL_LABEL, PROBES_PER_SECOND } from './node-services.ts';

/** The one place that knows how the controller is built and driven. The rest of the model uses `Replica`. */

export function builtInServices(readinessGate: ReadinessGate): readonly Service[] {
  return gitpodServices({
    gitpod: true,
    requirePod: true,
    namespace: 'default',
    wsDaemonPort: 8080,
    registryFacadePort: 31750,
    readinessGate,
    wsDaemonProbe: 'tcp',
  });
}

/** Everything that a replica watches, as it is now. */
export type Watched = {
  nodes: readonly Node[];
  componentPods: readonly ObservedPod[];
  agentPods: readonly ObservedPod[];
  poolLabelSets: readonly ObservedPoolLabelSet[];
  workspaces: readonly ObservedWorkspace[];
  /** `undefined` where they cannot be listed. */
  nodeServices: readonly ObservedNodeService[] | undefined;
  csiNodes: readonly ObservedCsiNode[];
  onDemand: readonly Pick<OnDemandThere, 'collection' | 'object'>[];
  nodeHolds: readonly ObservedNodeHold[];
};

export type ReplicaOptions = {
  client: KubeClient;
  gate: ReadinessGate;
  startupGate: readonly string[];
  daemonGate: boolean;
  /** Whether pods are evicted, and for labels of services as well. */
  evict: { readiness: boolean } | undefined;
  rules: () => RuleSet;
  clock: Clock;
  random: () => number;
  watched: Watched;
  wholeNodes: boolean;
  /** Watches the pods that NodeHolds name, and no others. */
  watchHeldPods: (held: readonly HeldPods[], index: Holds['pods']) => void;
  /** It found that it no longer leads. */
  onStoppedLeading: () => void;
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
const BUS = { deviceClassWhitelist: ['fe', '0880'], deviceLabelFields: ['class', 'vendor', 'device'] };

/** One coordinator: warm from the beginning, leading at times. */
export class Replica {
  readonly #controller: NodeController;
  readonly #fleet: Fleet;
  readonly #writer: WriteQueue<PreparedPlan>;
  readonly #serviceRegistry: ServiceRegistry;
  readonly #holds: Holds;
  readonly #wholeNodes: boolean;
  readonly #servicePods: ReturnType<Fleet['servicePods']['handlers']>;
  /** Kept while it leads, where it is asked for. */
  readonly #ledger: Ledger;
  /** Whether its Lease covers a write. */
  readonly #leadership: Leadership;
  readonly #clock: Clock;
  /** Asks everything that people and kube-scheduler can ask about a node. */
  readonly query: (node: string) => void;
  readonly #keys: KeyRegistry;
  readonly #owners: LabelOwners;
  /** The rules of the files, and those of them that are in force. */
  readonly #files: () => RuleSet;
  #ruleSet: RuleSet;
  #ruleLabels: ReadonlyMap<string, string>;
  #listedRevision = -1;
  readonly #stopped = new AbortController();
  #leading = false;
  /** When it last renewed its Lease, by the clocks of its machine. */
  #renewed: Moment | undefined;
  #deciding = false;
  #terms = 0;

  constructor(options: ReplicaOptions) {
    const { client, gate, startupGate, daemonGate, evict, rules, clock, random, watched, dryRun, keepsLedger } =
      options;
    this.#wholeNodes = options.wholeNodes;
    this.#clock = clock;
    this.#ruleLabels = rules().labels;
    const builtIn = builtInServices(gate);
    const config = {
      watchedServices: builtIn,
      poolLabels: [POOL_LABEL],
      startupGateRequires: startupGate,
      startupGateDaemonSets: daemonGate,
    };
    const keys = new KeyRegistry(config);
    const serviceRegistry: ServiceRegistry = new ServiceRegistry({
      builtIn,
      keys,
      otherKeys: new KeyRegistry(config),
      allowedPrefixes: ALLOWED_PREFIXES,
      allowNoExecute: true,
      conditions: true,
      allowedConditions: [],
      agents: true,
      agentProbesPerSecond: PROBES_PER_SECOND,
      impliedBy: (labels) => rules().dependents(labels),
      clock,
      logger: LOGGER,
    });
    serviceRegistry.onChange((uids) => {
      if (this.#settleRules()) this.#takeRules();
      this.#controller.servicesChanged(uids);
    });
    this.#serviceRegistry = serviceRegistry;
    const holds = new Holds(clock);
    holds.onChange({
      nodeChanged: (node) => this.#controller.changed(node, true),
      known: () => this.#fleet.markAll(),
      changed: () => {
        options.watchHeldPods(holds.wanted(), holds.pods);
        this.#fleet.markAll();
      },
    });
    this.#holds = holds;
    const services = () => serviceRegistry.services();
    const mayDecide = () => this.#deciding;
    const gateOptions = { requires: startupGate, maxWaitMs: 600_000, daemonSets: daemonGate ? DAEMON_GATE : undefined };
    const fence = new Leadership({
      ...{ clock, renewDeadlineMs: LEASE_TIMING.renewDeadlineMs, identity: 'replica', logger: LOGGER },
      callbacks: {
        onStartedLeading: () => this.#begin(),
        onStoppedLeading: () => {
          this.#end();
          options.onStoppedLeading();
        },
      },
      metrics: undefined,
      onChange: () => {},
    });
    this.#leadership = fence;
    const registry = new Registry();
    const fleet = new Fleet({
      services,
      servicesKnown: () => serviceRegistry.known,
      questions: () => [],
      poolLabels: [POOL_LABEL],
      windowMs: 30_000,
      guardPercent: 55,
      annotationsOfInterest: keys.names('annotation'),
      allAnnotations: false,
      clock,
    });
    const reserved = { forbiddenLabelDomains: [], poolsAllowedPrefixes: [], poolsRemovedLabels: [] };
    this.#owners = new LabelOwners({ fleet, reserved: reservedKeys(new KeyRegistry(config), reserved), rules });
    serviceRegistry.setClaims(this.#owners);
    this.#files = rules;
    this.#ruleSet = rules();
    this.#keys = keys;
    const skipped = new SkippedKeys(clock);
    const labelerOptions: WhatIfOptions = {
      ...{ services, keys, rules: () => this.#ruleSet, startupGate: gateOptions, ...reserved },
      serviceUids: () => serviceRegistry.uids,
      deviceGrammar: { labels: 'all', usb: BUS, pci: BUS },
      factLabels: [],
      eviction: evict && evictionFor({ evictReadiness: evict.readiness }, keys),
    };
    const evaluator = new Evaluator({
      ...labelerOptions,
      ...{ fleet, skipped, clock },
      holdsOn: (node) => holds.on(node),
      massWithdrawalDelayMs: 60_000,
    });
    const requests = new LeaderRequests({ client, fence, signal: this.#stopped.signal });
    const writer = new WriteQueue<PreparedPlan>({
      writer: new NodeWriter(requests),
      observed: (node) => fleet.node(node),
      ...{ skipped, dryRun, clock, random, logger: LOGGER, registry },
    });
    this.#ledger = new Ledger({
      record: (node) => fleet.record(node),
      facts: (node) => {
        const decision = evaluator.decide(node);
        return decision && { ...decision, skipped: skipped.keysFor(node) };
      },
      rules: () => ({ services: services(), dryRun }),
      mayJudge: mayDecide,
      clock,
    });
    const evictor =
      evict &&
      new Evictor({
        ...{ client, clock, random, registry, dryRun, signal: this.#stopped.signal, logger: LOGGER },
        requests,
        record: () => {},
        delayMs: 30_000,
        stateOf: (node) => evaluator.evictable(node),
      });
    const look = (node: string) => {
      if (keepsLedger) this.#ledger.look(node);
      evictor?.consider(node);
    };
    const restart = () => {
      this.#ledger.restart();
      evictor?.restart();
    };
    const subscribers: Subscribers = {
      ...NO_SUBSCRIBERS,
      changed: look,
      gone: look,
      restart,
    };
    this.#fleet = fleet;
    this.#writer = writer;
    const changes = new ChangeLog();
    this.#controller = new NodeController({
      ...{ fleet, evaluator, writer, skipped, subscribers, services, mayDecide, clock, logger: LOGGER },
      changes,
      historyWentBack: () => {},
      ownersChanged: () => this.#ownersChanged(),
    });
    const queries = new NodeQueries({ fleet, evaluator, skipped, changes, mayDecide, clock });
    const schedulerConfig = { scoreWeights: [], namespace: 'default', placing: { services: [] } };
    const scheduling = new Scheduling({
      ...{ fleet, evaluator, services, clock, config: schedulerConfig as unknown as CoordinatorConfig },
    });
    this.query = (node) => {
      const facts = queries.explain(node);
      const decision = queries.decide(node);
      if (!facts || !decision) return;
      nodeDocument(facts, services(), replicaDocument());
      queries.planOf(decision);
      this.#controller.prepare(node);
      const proposal = { services: [], keys, rules: this.#ruleSet, poolLabelSet: () => undefined };
      new WhatIf(labelerOptions, proposal, momentOf(clock)).changesOn(decision);
      [...serviceRegistry.propose(serviceRegistry.objects())];
      scheduling.explain({ metadata: { name: 'p', namespace: 'default', uid: 'p' }, spec: {} }, [node]).toArray();
      evaluator.guards();
      this.#ledger.seconds();
    };
    fleet.nodeHandlers.onReplace(watched.nodes.map((node) => this.#observe(node)));
    this.#servicePods = fleet.servicePods.handlers('default');
    this.#servicePods.onReplace([...watched.componentPods]);
    fleet.agentPods.handlers().onReplace([...watched.agentPods]);
    listPoolLabels(fleet, watched.poolLabelSets);
    fleet.workspaces.handlers().onReplace([...watched.workspaces]);
    fleet.onDemand.csiNodes.handlers().onReplace([...watched.csiNodes]);
    mapOnDemand((name) => {
      const own = watched.onDemand.filter(({ collection }) => collection === name);
      if (name !== 'csiNodes') this.#onDemand(name).onReplace(own.map(({ object }) => object));
    });
    if (watched.nodeServices) serviceRegistry.all.handlers().onReplace([...watched.nodeServices]);
    holds.all.handlers().onReplace([...watched.nodeHolds]);
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

  /** When it last renewed its Lease; `undefined` before the first term. */
  get renewed(): Moment | undefined {
    return this.#renewed;
  }

  /** Whether its Lease covers a write. */
  get mayWrite(): boolean {
    return this.#leadership.remainingMs() > 0;
  }

  /** Takes reports from now on, and decides once `synced` has come. */
  lead(synced: Promise<void>): void {
    this.#terms += 1;
    const term = this.#terms;
    this.#renewed = momentOf(this.#clock);
    this.#leadership.start(term, this.#renewed);
    void synced.then(() => {
      if (!this.#leading || this.#terms !== term) return;
      this.#ownersChanged();
      this.#deciding = true;
      this.#fleet.markAll();
    });
  }

  /** It holds the Lease, and writes that once more. */
  renew(): void {
    this.#renewed = momentOf(this.#clock);
    this.#leadership.extend(this.#renewed);
  }

  /** Another holds the Lease. */
  standBy(): void {
    this.#leadership.end('another replica leads');
  }

  #begin(): void {
    this.#leading = true;
    this.#controller.beginTerm();
  }

  #end(): void {
    this.#leading = false;
    this.#deciding = false;
    this.#ledger.restart();
  }

  /** Once a second. */
  tick(): void {
    if (!this.#deciding) return;
    const { revision } = this.#fleet.listedOrigins;
    if (revision !== this.#listedRevision) this.#ownersChanged();
    this.#listedRevision = revision;
    this.#controller.tick();
  }

  /** Whether this is the Node of that name, as far as it is known here. */
  knows(node: string, uid: string): boolean {
    return this.#fleet.node(node)?.uid === uid;
  }

  accept(report: FullReport | Heartbeat, identity: AgentIdentity): ReportReply {
    return this.#fleet.accept(report, identity).reply;
  }

  rulesChanged(): void {
    this.#serviceRegistry.judge();
    this.#settleRules();
    this.#takeRules();
  }

  /** As `app/replica.ts` does. */
  #ownersChanged(): void {
    this.#serviceRegistry.judge();
    if (this.#settleRules()) this.#takeRules();
  }

  #takeRules(): void {
    const { labels } = this.#ruleSet;
    this.#controller.rulesChanged(this.#ruleLabels, labels);
    this.#ruleLabels = labels;
  }

  #settleRules(): boolean {
    this.#keys.setOwners(this.#owners.owners());
    const isRefused = this.#owners.refusedLines(this.#serviceRegistry.services(), (label) =>
      this.#keys.refusal('rule', 'label', label),
    );
    const before = this.#ruleSet;
    const files = this.#files();
    const kept = files.rules.map((rule) => ({
      ...rule,
      conditions: rule.conditions?.filter((condition) => isRefused(rule, condition) === undefined),
    }));
    this.#ruleSet = isDeepStrictEqual(kept, files.rules) ? files : new RuleSet(kept);
    return !isDeepStrictEqual(before.rules, this.#ruleSet.rules);
  }

  node(event: 'ADDED' | 'MODIFIED' | 'DELETED', node: Node): void {
    tell(this.#fleet.nodeHandlers, event === 'DELETED', this.#observe(node));
  }

  componentPod(pod: ObservedPod, gone: boolean): void {
    tell(this.#servicePods, gone, pod);
  }

  agentPod(pod: ObservedPod, gone: boolean): void {
    tell(this.#fleet.agentPods.handlers(), gone, pod);
  }

  poolLabelSet(set: ObservedPoolLabelSet, gone: boolean): void {
    tell(this.#fleet.poolLabelSets.handlers(set.kind), gone, set);
  }

  workspace(workspace: ObservedWorkspace, gone: boolean): void {
    tell(this.#fleet.workspaces.handlers(), gone, workspace);
  }

  nodeService(service: ObservedNodeService, gone: boolean): void {
    tell(this.#serviceRegistry.all.handlers(), gone, service);
  }

  /** The watch of NodeServices is lost, or has listed these. */
  nodeServicesListed(services: readonly ObservedNodeService[] | undefined): void {
    if (services) this.#serviceRegistry.all.handlers().onReplace([...services]);
    else this.#serviceRegistry.all.handlers().onLost?.();
  }

  nodeHold(hold: ObservedNodeHold, gone: boolean): void {
    tell(this.#holds.all.handlers(), gone, hold);
  }

  csiNode(csiNode: ObservedCsiNode, gone: boolean): void {
    tell(this.#fleet.onDemand.csiNodes.handlers(), gone, csiNode);
  }

  onDemand(collection: OnDemandName, object: OnNode): void {
    this.#onDemand(collection).onUpsert(object);
  }

  #onDemand(name: OnDemandName) {
    return onDemandObjects(this.#fleet.onDemand, name).handlers();
  }

  /** Ends the process: nothing is written any more. */
  stop(): void {
    this.standBy();
    this.#stopped.abort();
    void this.#writer.stop();
  }

  #observe({ spec, status, ...metadata }: Node) {
    const whole = { ...metadata, spec: spec ?? {}, status: { conditions: [], ...status } };
    return this.#fleet.observe(this.#wholeNodes ? whole : metadata);
  }
}

function tell<T>(handlers: Handlers<T>, gone: boolean, object: T): void {
  if (gone) handlers.onDelete(object);
  else handlers.onUpsert(object);
}
