import { hostname } from 'node:os';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Clock, sleep, systemClock } from '@rollcall/common/clock.ts';
import { HealthChecks, Watchdog } from '@rollcall/common/health.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { isLoopback } from '@rollcall/common/loopback.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { openObservability } from '@rollcall/common/observability-server.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { Announcer } from './announcer.ts';
import { type CoordinatorConfig, type CoordinatorEnvironment, listenAddress } from './config.ts';
import { openConsole } from './console.ts';
import { Decider } from './decider.ts';
import { joinElection } from './election.ts';
import type { EventNews } from './events/event-news.ts';
import { EventRecorder } from './events/event-recorder.ts';
import { registerFleetMetrics, registerGateMetric } from './fleet-metrics.ts';
import { createFollowUps } from './follow-ups.ts';
import { GitpodMetrics } from './gitpod-metrics.ts';
import { IngestMetrics } from './ingest/metrics.ts';
import type { Role } from './ingest/report-handler.ts';
import type { Election } from './kube/election.ts';
import { createKubeClient } from './kube/https-client.ts';
import { createKubeMetrics, type KubeMetrics } from './kube/kube-metrics.ts';
import { reservedKeys } from './labelers/pool-keys.ts';
import { StatusKeeper } from './pool-status/status-keeper.ts';
import { openReports, type ReportsListener } from './reports.ts';
import { prepareReportsTls } from './reports-tls.ts';
import { openRules } from './rule-labels.ts';
import { openExtender, Scheduling } from './scheduling.ts';
import { findStrayTaints } from './stray-taints.ts';
import { CertificateMetrics } from './tls/metrics.ts';
import { createWatches } from './watches.ts';

export type Setup = { config: CoordinatorConfig; environment: CoordinatorEnvironment; kubeConfig: KubeConfig };

const TICK_MS = 1000;
const SYNC_POLL_MS = 20;
const STALLED_MS = 30_000;
/** Far more than the rounds of one node take, each request of which is bounded by 10 s. */
const WRITE_STALLED_MS = 300_000;
/** More than two renewals missed. */
const LEADER_SILENT_MS = 5000;
const NO_LEADER: Role = { leading: false };
/** After so long without the API server, what agents said meanwhile may not have reached us either. */
const OUTAGE_MS = 10_000;

/** Starts every part of a replica, in the order in which they need each other. */
export async function startCoordinator(setup: Setup, logger: Logger, life: Lifecycle): Promise<void> {
  const { config, environment } = setup;
  const { signal } = life;
  const clock = systemClock;
  const random = Math.random;
  const registry = createRegistry('rollcall_coordinator');
  const metrics = createKubeMetrics(registry);
  const client = kubeClient(setup.kubeConfig, clock, metrics);
  const services = config.watchedServices;
  const rules = await openRules(config, { clock, logger });
  const watchTaints = config.readinessGate !== 'label' || config.startupGateRequires.length > 0;
  let wholeNodes = watchTaints || rules?.ruleSet.usesResources === true;
  // What is opened before the election may be asked before there is one.
  let election: Election | undefined;
  const fence = { remainingMs: () => election?.remainingMs() ?? 0 };
  let standing: Role = NO_LEADER;
  let deciding = false;
  let term = new AbortController();
  signal.addEventListener('abort', () => term.abort(), { once: true });
  const leads = () => standing.leading && election?.isLeading() === true && !signal.aborted;
  const role = () => {
    // A leader that has stopped renewing its Lease is no place to send agents to; neither is one that may not write.
    const trusted = standing.leading ? leads() : (election?.silentMs() ?? 0) <= LEADER_SILENT_MS;
    return trusted ? standing : NO_LEADER;
  };

  const events = new EventRecorder({
    client,
    fence,
    clock,
    random,
    instance: environment.podName ?? hostname(),
    mustYield: () => decider.reconciler.waiting > 0,
    signal,
    logger,
    registry,
  });
  const record = (news: EventNews) => {
    // In a dry run nothing becomes of an object that could be told.
    if (!config.dryRun) events.record(news);
  };
  const announcer = new Announcer({
    services,
    gate: config.readinessGate,
    record,
    metrics: new GitpodMetrics(registry),
    gateOpened: registerGateMetric(registry),
    lease: { namespace: config.leaseNamespace, name: config.leaseName },
    clock,
  });
  const scheduling = new Scheduling({ config, decider: () => decider, clock });
  const followUps = createFollowUps({
    config,
    client,
    fence,
    fleet: () => decider.fleet,
    record,
    onLook: (node) => scheduling.changed(node),
    clock,
    random,
    signal,
    logger,
    registry,
  });
  const decider: Decider = new Decider({
    ...config,
    client,
    fence,
    services,
    gate: config.readinessGate,
    startupGate: { requires: config.startupGateRequires, maxWaitMs: config.startupGateMaxWaitSeconds * 1000 },
    deviceGrammar: {
      pci: { deviceClassWhitelist: config.pciDeviceClassWhitelist, deviceLabelFields: config.pciDeviceLabelFields },
      usb: { deviceClassWhitelist: config.usbDeviceClassWhitelist, deviceLabelFields: config.usbDeviceLabelFields },
    },
    rules: rules && (() => rules.ruleSet),
    eviction: config.evict
      ? { ignoredLabels: new Set(config.evictReadiness ? [] : services.map(({ label }) => label)) }
      : undefined,
    allAnnotations: config.notifyUrl.length > 0,
    followUps,
    windowMs: config.staleAfterSeconds * 1000,
    guardPercent: config.fleetGuardPercent,
    mayDecide: () => deciding,
    clock,
    random,
    logger,
    registry,
    onAgentPodGone: (uid) => reports?.forgetPod(uid),
    announcer,
  });
  const { fleet, reconciler } = decider;
  const poolStatus = new StatusKeeper({
    client,
    fence,
    fleet,
    reserved: reservedKeys({ ...config, services }),
    record,
    clock,
    logger,
  });
  registerFleetMetrics(registry, {
    refusedPoolKeys: () => (leads() ? poolStatus.refusedKeys : 0),
    countByFreshness: () => (leads() ? fleet.countByFreshness() : {}),
    activeGuards: () => (leads() ? fleet.freshness.activeGuards() : []),
    heldBack: () => (leads() ? decider.readiness.heldCount : 0),
    ruleProblems: () => rules?.problems().length ?? 0,
  });
  const watches = createWatches({
    ...config,
    client,
    fleet,
    services,
    wholeNodes: () => wholeNodes,
    workspacePodHandlers: config.schedulerListen === 'off' ? undefined : scheduling.podHandlers,
    clock,
    random,
    signal,
    logger,
    metrics,
    onRecovered: (outageMs) => {
      if (outageMs >= OUTAGE_MS) fleet.restart({ forgetReports: false });
    },
  });
  const health = new HealthChecks();
  const readiness = new HealthChecks();
  const watchdog = new Watchdog({ clock, limitMs: STALLED_MS, signal });
  health.add('main-loop', watchdog.check);
  health.add('writes', () => {
    const busyMs = reconciler.busyMs();
    return busyMs > WRITE_STALLED_MS ? `a write has not ended for ${Math.round(busyMs / 1000)} s` : undefined;
  });
  readiness.add('caches', () => (watches.unsynced().length > 0 ? `not listed yet: ${watches.unsynced()}` : undefined));
  const healthAddress = await openObservability(config.listen, { health, readiness, registry }, life);

  if (!isLoopback(listenAddress(config.consoleListen)?.host ?? 'localhost')) {
    logger.warn(
      { address: config.consoleListen },
      'Opened the console, which asks nobody who they are, to the network',
    );
  }
  const consoleAddress = await openConsole(
    config.consoleListen,
    { ...config, services, decider, rules, scheduling, client, role, clock },
    life,
  );

  const tls = await prepareReportsTls({
    ...setup,
    client,
    fence,
    clock,
    random,
    signal,
    logger,
    metrics: new CertificateMetrics(registry),
  });
  if (tls) readiness.add('certificate', () => (tls.certificates.current ? undefined : 'there is no certificate yet'));
  const address = listenAddress(config.reportsListen);
  let reports: ReportsListener | undefined;
  if (address) {
    reports = await openReports({
      ...config,
      address,
      certificates: tls?.certificates,
      client,
      fleet,
      leadership: { role, synced: () => watches.unsynced().length === 0 },
      clock,
      logger,
      metrics: new IngestMetrics(registry),
    });
    life.onStop('reports listener', reports.stop);
  }

  let leaderSchedulerUrl: string | undefined;
  const scheduler = await openExtender(
    {
      config,
      ownNamespace: environment.ownNamespace,
      address: listenAddress(config.schedulerListen),
      scheduling,
      leads: () => deciding && leads(),
      // Of a leader that is silent, too, nobody knows whether it answers.
      leaderUrl: () => (role() === NO_LEADER ? undefined : leaderSchedulerUrl),
      certificates: tls?.certificates,
      clock,
      logger,
      registry,
    },
    life,
  );

  const joined = joinElection({
    ...setup,
    leaderUrl: advertiseUrl(config, environment, reports?.address),
    schedulerUrl: scheduler ? urlOf(config.schedulerTls, environment.podIp, scheduler) : '',
    clock,
    random,
    logger,
    metrics,
    onStartedLeading: () => {
      standing = { leading: true };
      leaderSchedulerUrl = undefined;
      const own = new AbortController();
      term = own;
      decider.restart();
      scheduling.desk.clear();
      tls?.lead();
      void until(() => own.signal.aborted || watches.current(), clock, life).then(() => {
        if (own.signal.aborted || !leads()) return;
        deciding = true;
        fleet.markAll();
        if (watchTaints) return;
        void findStrayTaints({ ...config, client, fleet, services, clock, logger, signal: own.signal });
      });
    },
    onStandby: (leaderUrl, schedulerUrl) => {
      leaderSchedulerUrl = schedulerUrl;
      followUps.restart();
      deciding = false;
      term.abort();
      standing = leaderUrl === undefined ? NO_LEADER : { leading: false, leaderUrl };
    },
  });
  election = joined;
  life.onStop('election', () =>
    joined.release(Promise.all([reconciler.settled(), events.settled(), poolStatus.settled(), followUps.settled()])),
  );
  life.onStop('writes', () => reconciler.stop());

  void watches.run();
  void rules?.run(signal, ({ usesResources }) => {
    // Once whole, they stay so: metadata alone would leave what is known of their taints to grow old.
    if (usesResources && !wholeNodes) {
      wholeNodes = true;
      watches.relistNodes();
    }
    fleet.markAll();
  });
  void tls?.run();
  tick(() => {
    if (deciding) {
      decider.tick();
      for (const node of scheduling.desk.hintsDue()) decider.hint(node);
      if (!config.dryRun) void poolStatus.tick();
      announcer.guards(fleet.freshness.activeGuards());
    }
    watchdog.beat();
  }, life);
  const listening = { listen: healthAddress, console: consoleAddress, reports: reports?.address, scheduler };
  logger.info({ version: VERSION, ...listening, gate: config.readinessGate, dryRun: config.dryRun }, 'Started');
  await until(() => watches.unsynced().length === 0, clock, life);
  if (signal.aborted) return;
  logger.info({ nodes: fleet.nodeNames().length }, 'Listed everything');
  void joined.run();
}

/** A client with connections of its own. */
export function kubeClient(kubeConfig: KubeConfig, clock: Clock, metrics: KubeMetrics) {
  return createKubeClient(kubeConfig, {
    userAgent: `rollcall-coordinator/${VERSION}`,
    // The writer has at most 64 + 64 requests under way, and TokenReviews 32.
    maxSockets: 192,
    clock,
    onAnswer: metrics.answered,
  });
}

function advertiseUrl(
  config: CoordinatorConfig,
  { podIp }: CoordinatorEnvironment,
  bound: { host: string; port: number } | undefined,
): string {
  if (config.advertiseUrl !== undefined) return config.advertiseUrl;
  // It takes no reports, and agents are not to be sent here.
  if (!bound) return '';
  return urlOf(config.tls, podIp, bound);
}

/** Where other pods find a listener. */
function urlOf(tls: 'on' | 'off', podIp: string | undefined, bound: { host: string; port: number }): string {
  const host = podIp ?? bound.host;
  return `${tls === 'on' ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound.port}`;
}

/** Calls `act` every second until the program stops. */
function tick(act: () => void, { signal }: Lifecycle): void {
  const timer = setInterval(act, TICK_MS);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/** Waits until something is so, or the program stops. */
async function until(isSo: () => boolean, clock: Clock, { signal }: Lifecycle): Promise<void> {
  while (!signal.aborted && !isSo()) await sleep(clock, SYNC_POLL_MS, signal);
}
