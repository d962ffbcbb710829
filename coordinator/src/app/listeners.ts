import type { Clock } from '@rollcall/common/clock.ts';
import { HealthChecks, Watchdog } from '@rollcall/common/health.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { isLoopback } from '@rollcall/common/loopback.ts';
import { openObservability } from '@rollcall/common/observability-server.ts';
import { openConsole } from '../answer/open-console.ts';
import { IngestMetrics } from '../ingest/metrics.ts';
import { openReports, type ReportHandling, type ReportsListener } from '../ingest/reports.ts';
import { listenAddress } from '../model/config.ts';
import type { BoundAddress } from '../model/urls.ts';
import type { CertificateHolder } from '../tls/certificate-holder.ts';
import { CertificateMetrics } from '../tls/metrics.ts';
import { prepareReportsTls } from '../tls/reports-tls.ts';
import type { Watches } from '../watch/watches.ts';
import type { WriteQueue } from '../write/write-queue.ts';
import type { Replica } from './replica.ts';
import type { ReplicaContext } from './replica-context.ts';

/** A watch of few objects is sent a bookmark every 120 s; one that was silent for longer may be deaf. */
const WATCH_STALE_MS = 150_000;
/** While the API server answers other requests, a silent watch is only quiet. */
const API_STALE_MS = 60_000;

/** The listeners of a replica: health and metrics, the console, reports of agents, questions of kube-scheduler. */
export type Listeners = Awaited<ReturnType<typeof openListeners>>;

/** Opens the listeners. Those that open before the election may receive requests before there is a leader. */
export async function openListeners(context: ReplicaContext, replica: Replica, life: Lifecycle) {
  const { config, environment, client, requests, leadershipState, clock, random, signal, logger, registry } = context;
  const { nodes, evaluator, labelerOptions, services, serviceRegistry, rules, explainPod, ledger, news } = replica;
  const { health, readiness, beat } = createHealth({ writer: replica.writer, watches: replica.watches, clock });
  const listen = await openObservability(config.listen, { health, readiness, registry }, life);
  warnOfOpenConsole(context);
  const consoleOptions = {
    config,
    nodes,
    evaluator,
    labelerOptions,
    services,
    serviceRegistry,
    refusedObjects: replica.refusedObjects,
    servicesNowhere: replica.servicesNowhere,
    rules,
    explainPod,
    ledger,
    news,
    replica: replica.replica,
    client,
    leadershipState,
    clock,
  };
  const console = await openConsole(config.consoleListen, consoleOptions, life);

  const metrics = new CertificateMetrics(registry);
  const tls = await prepareReportsTls({
    config,
    environment,
    client,
    requests,
    clock,
    random,
    signal,
    logger,
    metrics,
  });
  const certificates = tls?.certificates;
  if (certificates) {
    readiness.add('certificate', () => (certificates.current ? undefined : 'there is no certificate yet'));
  }
  const address = config.agents ? listenAddress(config.reportsListen) : undefined;
  let reports: ReportsListener | undefined;
  if (address) {
    reports = await openReports({ handling: handlingOf(context, replica), address, certificates });
    life.onStop('reports listener', reports.stop);
  }
  const scheduler = await openScheduler(context, replica, certificates, life);
  const addresses = {
    listen,
    console: console ? textOf(console) : 'off',
    reports: reports?.address,
    scheduler,
  };
  return { tls, reports, scheduler, console, beat, addresses };
}

/** Opens the scheduler extender where it is switched on. */
async function openScheduler(
  { config, environment, leadershipState, clock, logger, registry }: ReplicaContext,
  { scheduling }: Replica,
  certificates: CertificateHolder | undefined,
  life: Lifecycle,
) {
  const address = listenAddress(config.schedulerListen);
  if (!address || !scheduling) return undefined;
  const { openExtender } = await import('@rollcall/scheduler-extender/scheduling.ts');
  const extender = {
    config,
    ownNamespace: environment.ownNamespace,
    address,
    scheduling,
    leads: () => leadershipState.mayDecide() && leadershipState.leads(),
    leaderUrl: () => leadershipState.leaderSchedulerUrl(),
    certificates,
    clock,
    logger,
    registry,
  };
  return openExtender(extender, life);
}

/** How reports are answered. */
export function handlingOf(context: ReplicaContext, replica: Replica): ReportHandling {
  const { config, client, leadershipState, contact, clock, random, logger, registry } = context;
  const { fleet, watches } = replica;
  const leadership = { role: () => leadershipState.role(), synced: () => watches.unsynced().length === 0 };
  const isStale = () => watches.silentMs() > WATCH_STALE_MS && contact.silentMs() > API_STALE_MS;
  return {
    client,
    fleet,
    agentServiceAccount: config.agentServiceAccount,
    localTokenVerification: config.localTokenVerification,
    isStale,
    leadership,
    clock,
    random,
    logger,
    metrics: new IngestMetrics(registry),
  };
}

function textOf({ host, port }: BoundAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function warnOfOpenConsole({ config: { consoleListen }, logger }: ReplicaContext): void {
  if (isLoopback(listenAddress(consoleListen)?.host ?? 'localhost')) return;
  logger.warn({ address: consoleListen }, 'Console exposed without authentication');
}

const STALLED_MS = 30_000;
/** Far more than the rounds of one node take, each request of which is bounded by 10 s. */
const WRITE_STALLED_MS = 300_000;

export type HealthSources = {
  writer: Pick<WriteQueue, 'busyMs'>;
  watches: Watches;
  clock: Clock;
};

/** The checks of /healthz and /readyz. Call `beat` while the main loop runs. */
export function createHealth({ writer, watches, clock }: HealthSources) {
  const health = new HealthChecks();
  const readiness = new HealthChecks();
  const watchdog = new Watchdog({ clock, limitMs: STALLED_MS });
  health.add('main-loop', watchdog.check);
  health.add('writes', () => {
    const busyMs = writer.busyMs();
    return busyMs > WRITE_STALLED_MS ? `a write has not ended for ${Math.round(busyMs / 1000)} s` : undefined;
  });
  readiness.add('caches', () => (watches.unsynced().length > 0 ? `not listed yet: ${watches.unsynced()}` : undefined));
  return { health, readiness, beat: () => watchdog.beat() };
}
