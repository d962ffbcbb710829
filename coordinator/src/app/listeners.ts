import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { isLoopback } from '@rollcall/common/loopback.ts';
import { openObservability } from '@rollcall/common/observability-server.ts';
import { openConsole } from '../answer/open-console.ts';
import { IngestMetrics } from '../ingest/metrics.ts';
import { openReports, type ReportHandling, type ReportsListener } from '../ingest/reports.ts';
import { listenAddress } from '../model/config.ts';
import type { BoundAddress } from '../model/urls.ts';
import { openExtender } from '../scheduler/scheduling.ts';
import { CertificateMetrics } from '../tls/metrics.ts';
import { prepareReportsTls } from '../tls/reports-tls.ts';
import { createHealth } from './health.ts';
import type { Replica } from './replica.ts';
import type { ReplicaContext } from './replica-context.ts';

/** A watch of few objects is sent a bookmark every 120 s; one that was silent for longer may be deaf. */
const WATCH_STALE_MS = 150_000;
/** While the API server answers other requests, a silent watch is only quiet. */
const API_STALE_MS = 60_000;

/** Where a replica is asked and told: health and metrics, the console, reports of agents, questions of kube-scheduler. */
export type Listeners = Awaited<ReturnType<typeof openListeners>>;

/** Opens the listeners. Those that open before the election may receive requests before there is a leader. */
export async function openListeners(context: ReplicaContext, replica: Replica, life: Lifecycle) {
  const { config, environment, leadershipState, registry } = context;
  const { scheduling } = replica;
  const { beat, ...health } = createHealth({ ...context, ...replica });
  const listen = await openObservability(config.listen, { ...health, registry }, life);
  warnOfOpenConsole(context);
  const console = await openConsole(config.consoleListen, { ...context, ...replica }, life);

  const tls = await prepareReportsTls({ ...context, metrics: new CertificateMetrics(registry) });
  const certificates = tls?.certificates;
  if (certificates) {
    health.readiness.add('certificate', () => (certificates.current ? undefined : 'there is no certificate yet'));
  }
  const address = listenAddress(config.reportsListen);
  let reports: ReportsListener | undefined;
  if (address) {
    reports = await openReports({ ...handlingOf(context, replica), address, certificates });
    life.onStop('reports listener', reports.stop);
  }
  const extender = {
    ...context,
    ownNamespace: environment.ownNamespace,
    address: listenAddress(config.schedulerListen),
    scheduling,
    leads: () => leadershipState.mayDecide() && leadershipState.leads(),
    leaderUrl: () => leadershipState.leaderSchedulerUrl(),
    certificates,
  };
  const scheduler = await openExtender(extender, life);
  const addresses = {
    listen,
    console: console ? textOf(console) : 'off',
    reports: reports?.address,
    scheduler,
  };
  return { tls, reports, scheduler, console, beat, addresses };
}

/** How reports are answered. */
export function handlingOf(context: ReplicaContext, replica: Replica): ReportHandling {
  const { config, leadershipState, contact, registry } = context;
  const { watches } = replica;
  const leadership = { role: () => leadershipState.role(), synced: () => watches.unsynced().length === 0 };
  const isStale = () => watches.silentMs() > WATCH_STALE_MS && contact.silentMs() > API_STALE_MS;
  return { ...context, ...config, ...replica, isStale, leadership, metrics: new IngestMetrics(registry) };
}

function textOf({ host, port }: BoundAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function warnOfOpenConsole({ config: { consoleListen }, logger }: ReplicaContext): void {
  if (isLoopback(listenAddress(consoleListen)?.host ?? 'localhost')) return;
  logger.warn({ address: consoleListen }, 'Console exposed without authentication');
}
