import { nodeSummary, replicaDocument } from '../answer/console/fleet-documents.ts';
import { FleetNews } from '../answer/console/fleet-news.ts';
import { NodeQueries } from '../answer/console/node-queries.ts';
import { NodeController, type PreparedPlan } from '../controller/node-controller.ts';
import { Evaluator } from '../decide/evaluator.ts';
import { ChangeLog } from '../decide/intent/changes.ts';
import { LabelOwners } from '../decide/label-owners.ts';
import type { Budgeted, LabelerOptions } from '../decide/labelers/index.ts';
import { reservedKeys } from '../decide/labelers/pool-keys.ts';
import { openRules } from '../decide/rules/files/rule-directory.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import { needs } from '../model/services.ts';
import { Fleet } from '../state/fleet.ts';
import { Holds } from '../state/holds/holds.ts';
import { countByFreshness, registerFleetMetrics } from '../state/metrics.ts';
import { ChangedNodes } from '../subscribers/changed-nodes.ts';
import { createSubscribers } from '../subscribers/create-subscribers.ts';
import { Ledger } from '../subscribers/ledger/ledger.ts';
import { registerLedgerMetric } from '../subscribers/ledger/metrics.ts';
import { createHoldStatusController } from '../subscribers/status/hold-status-controller.ts';
import { createPoolStatusControllers } from '../subscribers/status/pool-status-controller.ts';
import { refusedObjects } from '../subscribers/status/refused-objects.ts';
import { servicesNowhere } from '../subscribers/status/service-status.ts';
import { createServiceStatusController } from '../subscribers/status/service-status-controller.ts';
import { Watches } from '../watch/watches.ts';
import { NodeWriter } from '../write/node-writer.ts';
import { SkippedKeys } from '../write/skipped-keys.ts';
import { WriteQueue } from '../write/write-queue.ts';
import { Owners } from './owners.ts';
import type { ReplicaContext } from './replica-context.ts';
import { createServiceRegistry, followRegistryFacadeCa } from './service-registry.ts';
import { fleetSettings, guardSettings, labelerSettings } from './settings.ts';

/** After so long without the API server, what agents said meanwhile may not have reached this replica either. */
const OUTAGE_MS = 10_000;
/** Answers to writes of the history before may still come while everything is listed anew. */
const HISTORY_SETTLES_MS = 1000;

/** All parts of a replica between the watches and the listeners. */
export type Replica = Awaited<ReturnType<typeof createReplica>>;

/** Builds a replica from the bottom up: state, decisions, the writer, subscribers, watches, and at last the controller. */
export async function createReplica(context: ReplicaContext) {
  const { config, environment, keys, client, requests, leadershipState, registry, kubeMetrics } = context;
  const { clock, random, signal, logger } = context;
  const mayDecide = () => leadershipState.mayDecide();

  // State.
  // Whether flags, or whoever has it on Nodes, have the key of a built-in service is decided later.
  const reserved = new KeyRegistry({ ...config, watchedServices: [] });
  const rules = await openRules(config, { keys: reserved, clock, logger });
  const serviceRegistry = createServiceRegistry(context, rules);
  const followCa = followRegistryFacadeCa(context, serviceRegistry);
  followCa();
  const services = () => serviceRegistry.services();
  const holds = new Holds(clock);
  const fleet = new Fleet({
    services,
    servicesKnown: () => serviceRegistry.known,
    questions: () => rules?.ruleSet.questions ?? [],
    declaredFeatures: () => rules?.ruleSet.declaredFeatures ?? [],
    ...fleetSettings(config),
    annotationsOfInterest: keys.names('annotation'),
    clock,
  });

  const labelOwners = new LabelOwners({
    fleet,
    reserved: reservedKeys(reserved, config),
    rules: () => rules?.files,
  });
  serviceRegistry.setClaims(labelOwners);
  const owners = new Owners({ fleet, keys, labelOwners, serviceRegistry, rules });

  // Decisions, and their way to the API server.
  const labelerOptions: Omit<LabelerOptions, Budgeted> = {
    ...labelerSettings(config, keys),
    services,
    serviceUids: () => serviceRegistry.uids,
    rules: rules && (() => rules.ruleSet),
  };
  const skipped = new SkippedKeys(clock);
  const evaluator = new Evaluator({
    ...labelerOptions,
    fleet,
    isReported: (service) => serviceRegistry.isReported(service),
    holdsOn: (node) => holds.on(node),
    skipped,
    ...guardSettings(config),
    clock,
  });
  const writer = new WriteQueue<PreparedPlan>({
    writer: new NodeWriter(requests),
    observed: (node) => fleet.node(node),
    skipped,
    dryRun: config.dryRun,
    registry,
    logger,
    clock,
    random,
  });
  const changes = new ChangeLog();
  const nodes = new NodeQueries({ fleet, evaluator, skipped, changes, mayDecide, clock });

  // Subscribers.
  const hint = (node: string) => {
    evaluator.hint(node);
    writer.add(node);
  };
  const newScheduling = async () => {
    const { Scheduling } = await import('@rollcall/scheduler-extender/scheduling.ts');
    return new Scheduling({ config, fleet, evaluator, services, clock });
  };
  const scheduling = config.schedulerListen === 'off' ? undefined : await newScheduling();
  const ledger = new Ledger({
    record: (node) => fleet.record(node),
    facts: (node) => {
      const decision = nodes.decide(node);
      return decision && { ...decision, skipped: nodes.skippedOn(node) };
    },
    rules: () => ({ services: services(), dryRun: config.dryRun }),
    mayJudge: mayDecide,
    clock,
  });
  registerLedgerMetric(registry, () => ledger.seconds());
  const replica = () => replicaDocument({ config, environment, leadershipState, evaluator, clock });
  const news = new FleetNews({ clock, replica, summary: (name) => nodeSummary(nodes, name) });
  const changedNodes = new ChangedNodes(clock, (node) => {
    ledger.look(node);
    news.look(node);
  });
  const { record, subscribers } = createSubscribers({
    config,
    environment,
    client,
    requests,
    fleet,
    services,
    evictable: (node) => evaluator.evictable(node),
    withheld: (...asked) => evaluator.withheld(...asked),
    mustYield: () => writer.waiting > 0,
    onChanged: (node) => {
      scheduling?.changed(node);
      changedNodes.add(node);
    },
    onRestart: () => {
      ledger.restart();
      news.restart();
    },
    clock,
    random,
    signal,
    logger,
    registry,
  });

  // What is watched.
  // Packing needs to know what nodes can allocate.
  const packs = config.schedulerListen !== 'off' && config.placing.podSelector !== undefined;
  const servicesNeedWhole = () => keys.needsWholeNodes || services().some((service) => needs(service, 'nodes'));
  const watches = new Watches({
    config,
    client,
    fleet,
    nodeServices: serviceRegistry.all,
    holds,
    workspacePodHandlers: scheduling?.podHandlers,
    services,
    rules: () => rules?.ruleSet,
    wholeNodes: () => packs || servicesNeedWhole() || rules?.ruleSet.needsWholeNodes === true,
    onRecovered: (outageMs) => {
      if (outageMs >= OUTAGE_MS) fleet.recovered();
    },
    clock,
    random,
    signal,
    logger,
    metrics: kubeMetrics,
  });

  // The controller, and the ways up to it.
  const controller = new NodeController({
    fleet,
    evaluator,
    writer,
    changes,
    skipped,
    subscribers,
    services,
    ownersChanged: () => owners.changed(),
    mayDecide,
    historyWentBack: () => watches.relist(HISTORY_SETTLES_MS),
    clock,
    logger,
  });
  serviceRegistry.onChange((uids) => {
    watches.update();
    owners.servicesChanged();
    controller.servicesChanged(uids);
  });
  owners.onRules((before, after) => {
    watches.update();
    controller.rulesChanged(before, after);
  });
  holds.onChange({
    nodeChanged: (node) => controller.changed(node, true),
    known: () => fleet.markAll(),
    changed: () => {
      watches.update();
      fleet.markAll();
    },
  });

  // Statuses of objects.
  const writes = { requests, record, clock, logger };
  const reservedOfPools = reservedKeys(keys, config);
  const problemOfHold: typeof watches.problemOfHold = (hold) => watches.problemOfHold(hold);
  const poolStatus = createPoolStatusControllers({ writes, fleet, reserved: reservedOfPools });
  const serviceStatus = createServiceStatusController({
    writes,
    serviceRegistry,
    fleet,
    evaluator,
    problemOf: (service) => watches.problemOf(service),
    isCounting: () => controller.isCatchingUp,
  });
  const holdStatus = createHoldStatusController({
    writes,
    holds,
    isNode: (name) => fleet.node(name) !== undefined,
    problemOf: problemOfHold,
  });
  const statuses = config.dryRun ? [] : [...poolStatus.controllers, serviceStatus, holdStatus];

  registerFleetMetrics(registry, {
    refusedPoolKeys: () => (leadershipState.leads() ? poolStatus.refusedKeys() : 0),
    nodesByFreshness: () => (leadershipState.leads() ? countByFreshness(fleet, config.agents) : {}),
    heldBack: () => (leadershipState.leads() ? evaluator.heldBackCount : 0),
    guards: () => (leadershipState.leads() ? evaluator.guards() : []),
    ruleProblems: () => rules?.problems().length ?? 0,
    isDryRun: (name) => serviceRegistry.object(name)?.service.dryRun !== undefined,
    serviceNodes: () => (leadershipState.leads() ? evaluator.tally.counts : new Map()),
    nodeServices: () =>
      (leadershipState.leads() ? serviceRegistry.objects() : [])
        .filter((object) => serviceRegistry.isJudged(object))
        .map((object) => ({
          name: object.name,
          isInForce: !serviceRegistry.refusalOf(object) && watches.problemOf(object.service) === undefined,
        })),
  });

  return {
    services,
    serviceRegistry,
    refusedObjects: refusedObjects({
      serviceRegistry,
      poolLabelSets: fleet.poolLabelSets,
      reserved: reservedOfPools,
      holds,
      problemOfService: (service) => watches.problemOf(service),
      problemOfHold,
    }),
    servicesNowhere: () => servicesNowhere(serviceRegistry.objects()),
    holds,
    rules,
    owners,
    scheduling,
    /** Every node's verdict and score for a pod, for people. */
    explainPod: async (pod: unknown, names: readonly string[]) =>
      (scheduling ?? (await newScheduling())).explain(pod, names),
    ledger,
    news,
    replica,
    subscribers,
    fleet,
    evaluator,
    labelerOptions,
    nodes,
    writer,
    controller,
    watches,
    followCa,
    /** Handles changes that only depend on time, while this replica decides. Call it once a second. */
    tick: () => {
      owners.tick();
      controller.tick();
      for (const node of scheduling?.hintsDue() ?? []) hint(node);
      for (const status of statuses) void status.tick();
    },
  };
}
