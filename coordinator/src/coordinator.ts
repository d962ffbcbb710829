import type { KubeConfig } from '@kubernetes/client-node';
import { type Clock, sleep, systemClock } from '@rollcall/common/clock.ts';
import { HealthChecks, Watchdog } from '@rollcall/common/health.ts';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { createRegistry, type Registry } from '@rollcall/common/metrics.ts';
import { createObservabilityServer } from '@rollcall/common/observability-server.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { type CoordinatorConfig, type CoordinatorEnvironment, listenAddress } from './config.ts';
import { Decider } from './decider.ts';
import { joinElection } from './election.ts';
import { registerFleetMetrics } from './fleet-metrics.ts';
import { IngestMetrics } from './ingest/metrics.ts';
import type { Role } from './ingest/report-handler.ts';
import { createKubeClient } from './kube/https-client.ts';
import { createKubeMetrics, type KubeMetrics } from './kube/kube-metrics.ts';
import { createLabelers } from './labelers/index.ts';
import { openReports, type ReportsListener } from './reports.ts';
import { prepareReportsTls } from './reports-tls.ts';
import { gitpodServices } from './services.ts';
import { CertificateMetrics } from './tls/metrics.ts';
import { createWatches } from './watches.ts';

export type Setup = { config: CoordinatorConfig; environment: CoordinatorEnvironment; kubeConfig: KubeConfig };

const TICK_MS = 1000;
const SYNC_POLL_MS = 20;
const STALLED_MS = 30_000;
const SERVER_CLOSE_GRACE_MS = 200;
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
  const services = gitpodServices(config);
  const fence = { remainingMs: () => election.remainingMs() };
  const role: { current: Role } = { current: { leading: false } };

  const decider = new Decider({
    client,
    fence,
    services,
    labelers: createLabelers({ services, requirePod: config.requirePod }),
    poolLabels: config.poolLabels,
    windowMs: config.staleAfterSeconds * 1000,
    guardPercent: config.fleetGuardPercent,
    dryRun: config.dryRun,
    clock,
    random,
    logger,
    registry,
    onAgentPodGone: (uid) => reports?.forgetPod(uid),
  });
  const { fleet, reconciler } = decider;
  registerFleetMetrics(registry, {
    countByFreshness: () => fleet.countByFreshness(),
    activeGuards: () => fleet.freshness.activeGuards(),
  });
  const watches = createWatches({
    ...config,
    client,
    fleet,
    services,
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
  readiness.add('caches', () => (watches.unsynced().length > 0 ? `not listed yet: ${watches.unsynced()}` : undefined));
  const healthAddress = await serveHealth(config, { health, readiness, registry }, life);

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
      leadership: { role: () => role.current, synced: () => watches.unsynced().length === 0 },
      clock,
      logger,
      metrics: new IngestMetrics(registry),
    });
    life.onStop('reports listener', reports.stop);
  }

  const election = joinElection({
    ...setup,
    leaderUrl: advertiseUrl(config, environment, reports?.address),
    clock,
    random,
    logger,
    metrics,
    onStartedLeading: () => {
      role.current = { leading: true };
      // Heard reports are of another time: this replica was a standby, and was told nothing.
      fleet.restart({ forgetReports: true });
      tls?.lead();
    },
    onStandby: (leaderUrl) => {
      role.current = leaderUrl === undefined ? { leading: false } : { leading: false, leaderUrl };
    },
  });
  life.onStop('election', () => election.release(reconciler.settled()));
  life.onStop('writes', () => reconciler.stop());

  void watches.run();
  void tls?.run();
  tick(() => {
    fleet.tick();
    watchdog.beat();
  }, life);
  logger.info({ version: VERSION, listen: healthAddress, reports: reports?.address, dryRun: config.dryRun }, 'Started');
  await whenSynced(watches.unsynced, clock, life);
  if (signal.aborted) return;
  logger.info({ nodes: fleet.nodeNames().length }, 'Listed everything');
  void election.run();
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

/** Returns the address as bound, or `off`. */
async function serveHealth(
  config: CoordinatorConfig,
  parts: { health: HealthChecks; readiness: HealthChecks; registry: Registry },
  life: Lifecycle,
): Promise<string> {
  const address = listenAddress(config.listen);
  if (!address) return 'off';
  const server = createObservabilityServer(parts);
  const { host, port } = await listen(server, address);
  life.onStop('health listener', () => closeServer(server, SERVER_CLOSE_GRACE_MS));
  return `${host}:${port}`;
}

function advertiseUrl(
  config: CoordinatorConfig,
  { podIp }: CoordinatorEnvironment,
  bound: { host: string; port: number } | undefined,
): string {
  if (config.advertiseUrl !== undefined) return config.advertiseUrl;
  const host = podIp ?? bound?.host ?? '127.0.0.1';
  return `${config.tls === 'on' ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound?.port ?? 0}`;
}

/** Calls `act` every second until the program stops. */
function tick(act: () => void, { signal }: Lifecycle): void {
  const timer = setInterval(act, TICK_MS);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

async function whenSynced(unsynced: () => string[], clock: Clock, { signal }: Lifecycle): Promise<void> {
  while (!signal.aborted && unsynced().length > 0) await sleep(clock, SYNC_POLL_MS, signal);
}
