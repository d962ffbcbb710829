import { nodeSummary } from './answer/console/fleet-documents.ts';
import { FleetNews } from './answer/console/fleet-news.ts';
import { replicaDocument } from './answer/console/replica-document.ts';
import { Scheduling } from './answer/scheduling.ts';
import type { Base } from './base.ts';
import { createCatalog, firstTaintsOf } from './catalog.ts';
import { createDecider } from './decide/create-decider.ts';
import type { Decider } from './decide/decider.ts';
import { reservedKeys } from './decide/labelers/pool-keys.ts';
import { openRules } from './decide/rules/files/open-rules.ts';
import type { RuleSet } from './decide/rules/rule-set.ts';
import { registerFleetMetrics } from './fleet/metrics.ts';
import { createFollowers } from './follow/create-followers.ts';
import { Ledger } from './follow/ledger/ledger.ts';
import { registerLedgerMetric } from './follow/ledger/metrics.ts';
import { Looks } from './follow/looks.ts';
import { createHoldStatusKeeper } from './follow/status/hold-status-keeper.ts';
import { createPoolStatusKeeper } from './follow/status/pool-status-keeper.ts';
import { createServiceStatusKeeper } from './follow/status/service-status-keeper.ts';
import { Holds } from './holds/holds.ts';
import type { ServiceCatalog } from './services/catalog.ts';
import { createWatches, type Watches } from './watch/watches.ts';

/** After so long without the API server, what agents said meanwhile may not have reached us either. */
const OUTAGE_MS = 10_000;

/** From what is watched to what is written, and who follows. */
export type Heart = Awaited<ReturnType<typeof createHeart>>;

export async function createHeart(base: Base) {
  const { config, keys, standing, kubeMetrics, clock } = base;
  const rules = await openRules(config, base);
  const catalog: ServiceCatalog = createCatalog(base, {
    impliedBy: (labels) => rules?.ruleSet.dependents(labels) ?? new Set(),
    fleet: () => decider.fleet,
    onChange: (uids) => {
      if (keys.needsWholeNodes) watchWhole();
      watches.servicesChanged();
      decider.servicesChanged(uids);
      decider.fleet.markAll();
    },
  });
  const services = () => catalog.services();
  const holds: Holds = new Holds({
    clock,
    onNode: (node) => decider.changed(node),
    onChange: () => {
      watches.holdsChanged();
      decider.fleet.markAll();
    },
  });
  const scheduling = new Scheduling({ config, decider: () => decider, services, clock });
  const ledger = new Ledger({
    decider: () => decider,
    rules: () => ({ services: services(), gate: config.readinessGate, dryRun: config.dryRun }),
    mayJudge: () => standing.mayDecide(),
    clock,
  });
  registerLedgerMetric(base.registry, () => ledger.seconds());
  const replica = () => replicaDocument({ ...base, decider });
  const news = new FleetNews({ clock, replica, summary: (name) => nodeSummary(decider, name) });
  const looks = new Looks(clock, (node) => {
    ledger.look(node);
    news.look(node);
  });
  const followers = createFollowers({
    ...base,
    services,
    fleet: () => decider.fleet,
    evictable: (node) => decider.evictable(node),
    mustYield: () => decider.reconciler.waiting > 0,
    onLook: (node) => {
      scheduling.changed(node);
      looks.add(node);
    },
    onRestart: () => {
      ledger.restart();
      news.restart();
    },
  });
  const decider: Decider = createDecider(config, {
    ...base,
    ...followers,
    services,
    rules: rules && (() => rules.ruleSet),
    servicesKnown: () => catalog.known,
    serviceUids: () => catalog.uids,
    holdsOn: (node) => holds.on(node),
    firstTaints: firstTaintsOf(catalog, {
      record: followers.record,
      onProven: () => {
        decider.fleet.markAll();
        if (!config.dryRun) void serviceStatus.tickNow();
      },
    }),
    onPodsKnown: () => catalog.judge(),
    mayDecide: () => standing.mayDecide(),
  });
  const { fleet, reconciler } = decider;
  const reserved = reservedKeys(keys, config);
  const { keeper: poolStatus, refusedKeys } = createPoolStatusKeeper({ ...base, ...followers, fleet, reserved });
  const serviceStatus = createServiceStatusKeeper({
    ...base,
    ...followers,
    catalog,
    decider,
    problemOf: (service) => watches.problemOf(service),
  });
  const holdStatus = createHoldStatusKeeper({
    ...base,
    ...followers,
    holds,
    isNode: (name) => fleet.node(name) !== undefined,
    problemOf: (hold) => watches.problemOfHold(hold),
  });
  // What nodes can allocate is what packing goes by.
  const packs = config.schedulerListen !== 'off' && config.placing.podSelector !== undefined;
  let wholeNodes = packs || keys.needsWholeNodes || rules?.ruleSet.usesResources === true;
  const watches: Watches = createWatches({
    ...base,
    ...config,
    fleet,
    services: () => catalog.watched(),
    nodeServiceHandlers: catalog.handlers,
    holds,
    wholeNodes: () => wholeNodes,
    workspacePodHandlers: config.schedulerListen === 'off' ? undefined : scheduling.podHandlers,
    metrics: kubeMetrics,
    onRecovered: (outageMs) => {
      if (outageMs >= OUTAGE_MS) fleet.recovered();
    },
  });
  if (rules) watches.want(rules.ruleSet);
  /** Once whole, they stay so: metadata alone would leave what is known of their taints to grow old. */
  const watchWhole = () => {
    if (wholeNodes) return;
    wholeNodes = true;
    watches.relistNodes();
  };
  registerFleetMetrics(base.registry, {
    refusedPoolKeys: () => (standing.leads() ? refusedKeys() : 0),
    countByFreshness: () => (standing.leads() ? fleet.countByFreshness() : {}),
    activeGuards: () => (standing.leads() ? fleet.freshness.activeGuards() : []),
    heldBack: () => (standing.leads() ? decider.heldBackCount : 0),
    heldWithdrawals: () => (standing.leads() ? decider.heldWithdrawals() : []),
    ruleProblems: () => rules?.problems().length ?? 0,
  });
  return {
    services,
    catalog,
    holds,
    rules,
    scheduling,
    ledger,
    news,
    replica,
    followers,
    decider,
    fleet,
    reconciler,
    poolStatus,
    watches,
    /** The rules are others than before. */
    rulesChanged: (rules: RuleSet) => {
      decider.rulesChanged(rules.labels);
      if (rules.usesResources) watchWhole();
      watches.want(rules);
      catalog.judge();
      fleet.markAll();
    },
    /** What time alone changes, while this replica decides. Once a second. */
    tick: () => {
      decider.tick();
      for (const node of scheduling.desk.hintsDue()) decider.hint(node);
      catalog.podsMayHaveChanged();
      if (!config.dryRun) {
        void poolStatus.tick();
        void serviceStatus.tick();
        void holdStatus.tick();
      }
      followers.announcer.guards(fleet.term, fleet.freshness.activeGuards());
      followers.announcer.withdrawalsHeld(fleet.term, decider.heldWithdrawals());
    },
    /** Resolves when nothing is under way that only a leader may do. */
    settled: () =>
      Promise.all([
        ...[reconciler.settled(), followers.settled()],
        ...[poolStatus.settled(), serviceStatus.settled(), holdStatus.settled()],
      ]),
  };
}
