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
import type { Base } from './base.ts';
import { createHealth } from './health.ts';
import type { Replica } from './replica.ts';

/** A watch of few objects is sent a bookmark every 120 s; one that was silent for longer may be deaf. */
const WATCH_STALE_MS = 150_000;
/** With an API server that goes on answering, it is a quiet watch. */
const API_STALE_MS = 60_000;

/** Where a replica is asked and told: health and metrics, the console, reports of agents, questions of kube-scheduler. */
export type Listeners = Awaited<ReturnType<typeof openListeners>>;

/** What is opened before the election may be asked before there is one. */
export async function openListeners(base: Base, replica: Replica, life: Lifecycle) {
  const { config, environment, standing, registry } = base;
  const { scheduling } = replica;
  const { beat, ...health } = createHealth({ ...base, ...replica });
  const listen = await openObservability(config.listen, { ...health, registry }, life);
  warnOfOpenConsole(base);
  const console = await openConsole(config.consoleListen, { ...base, ...replica }, life);

  const tls = await prepareReportsTls({ ...base, metrics: new CertificateMetrics(registry) });
  const certificates = tls?.certificates;
  if (certificates) {
    health.readiness.add('certificate', () => (certificates.current ? undefined : 'there is no certificate yet'));
  }
  const address = listenAddress(config.reportsListen);
  let reports: ReportsListener | undefined;
  if (address) {
    reports = await openReports({ ...handlingOf(base, replica), address, certificates });
    life.onStop('reports listener', reports.stop);
  }
  const extender = {
    ...base,
    ownNamespace: environment.ownNamespace,
    address: listenAddress(config.schedulerListen),
    scheduling,
    leads: () => standing.mayDecide() && standing.leads(),
    leaderUrl: () => standing.leaderSchedulerUrl(),
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
export function handlingOf(base: Base, replica: Replica): ReportHandling {
  const { config, standing, contact, registry } = base;
  const { watches } = replica;
  const leadership = { role: () => standing.role(), synced: () => watches.unsynced().length === 0 };
  const isStale = () => watches.silentMs() > WATCH_STALE_MS && contact.silentMs() > API_STALE_MS;
  return { ...base, ...config, ...replica, isStale, leadership, metrics: new IngestMetrics(registry) };
}

function textOf({ host, port }: BoundAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function warnOfOpenConsole({ config: { consoleListen }, logger }: Base): void {
  if (isLoopback(listenAddress(consoleListen)?.host ?? 'localhost')) return;
  logger.warn({ address: consoleListen }, 'Opened the console, which asks nobody who they are, to the network');
}
